import type { WireError } from "@heddle/concurrency";

/**
 * Methods of a child process: for each, the parameters, the result and the events sent before it. Messages are
 * structured clones ("advanced" serialization), so typed arrays and maps are preserved.
 */
export type Methods<M> = { [K in keyof M]: { params: unknown; result: unknown; event: unknown } };

/** Messages of one event loop iteration are sent together, so that requests made together start together. */
export type ParentMessageBatch = ParentMessage[];

export type ParentMessage =
  | { type: "call"; id: number; method: string; params: unknown }
  | { type: "abort"; id: number }
  /** Exit after the running calls; no further message follows. */
  | { type: "end" };

export type ChildMessage =
  | { type: "result"; id: number; value: unknown }
  | { type: "error"; id: number; error: WireError }
  | EventsMessage;

/**
 * Events of calls, each call's in order: those of one event loop iteration are sent together, so that a step for many
 * completions is one message.
 */
export interface EventsMessage {
  type: "events";
  calls: { id: number; events: unknown[] }[];
}
