import type { KnownCall } from "../stored-calls/known-call.js";

/** A change of a call, or of the feedback on it, that readers can see. */
export interface Change {
  kind: "call" | "removed" | "feedback";
  /** Of the call. */
  id: string;
  feedback_id?: string | undefined;
  /** What is stored with it; several changes of one commit have the same. */
  version: bigint;
  /** When the call started, where the writer knows. */
  started_at?: bigint | undefined;
  /** The call after the change, where the writer knows. */
  known?: KnownCall | undefined;
}

export const byVersion = (a: Pick<Change, "version">, b: Pick<Change, "version">): number =>
  a.version < b.version ? -1 : Number(a.version > b.version);
