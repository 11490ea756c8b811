import type { Item, Outcome, Stored } from "./entry.js";

/** What working through a queue needs of the service. Everything may be repeated. */
export interface QueuePort {
  /** The next item without those of `except`, or the item `id` if it can be had; undefined without one. */
  claim(request: { except: readonly string[]; id?: string }): Promise<Item | undefined>;
  /** An item as it is; undefined where the queue has none. `isMine` where the annotator has set its state. */
  look(id: string): Promise<{ item: Item; isMine: boolean; stored: Stored } | undefined>;
  reopen(itemId: string): Promise<void>;
  finish(itemId: string, outcome: Outcome): Promise<void>;
  /** Stores an answer, as one of the queue or of the call alone. */
  give(answer: { id: string; callId: string; ref: string; value: unknown }, inQueue: boolean): Promise<void>;
  takeBack(feedbackId: string): Promise<void>;
  /** Gives claimed items back, also while the page closes. */
  release(ids: readonly string[]): Promise<void>;
  /** Whether the queue is there. */
  exists(): Promise<boolean>;
}
