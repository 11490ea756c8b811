import type { WireError } from "./wire-error.js";

/**
 * What a child process can be asked for: per method its parameters, its result and the events it sends before. Messages are
 * structured clones ("advanced" serialization), so typed arrays and maps travel as they are.
 */
export type Methods<M> = { [K in keyof M]: { params: unknown; result: unknown; event: unknown } };

/** Those of one turn of the event loop travel together, so that requests made together begin together. */
export type ParentMessageBatch = ParentMessage[];

export type ParentMessage =
  | { type: "call"; id: number; method: string; params: unknown }
  | { type: "abort"; id: number }
  /** End once the running calls have; nothing new is sent. */
  | { type: "end" };

export type ChildMessage =
  | { type: "result"; id: number; value: unknown }
  | { type: "error"; id: number; error: WireError }
  /** In the order they happened; those of one turn of the event loop travel together. */
  | { type: "events"; id: number; events: unknown[] };
