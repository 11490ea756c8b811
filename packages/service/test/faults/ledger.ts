import type { Wire } from "./wire.js";

/** One side of a call: what was sent, and whether the service said that it has it. */
interface Side {
  /** JSON value sent as `inputs` of a start, `output` of an end. */
  value: unknown;
  acked: boolean;
}

export interface CallEntry {
  kind: string;
  start?: Side;
  end?: Side;
  /** Start and end travelled in one item: seen together or not at all. */
  whole: boolean;
  /** Once its deletion is sent it is there or not; once that is acknowledged it is not. */
  deletion?: "sent" | "acknowledged";
}

/** Something stored under a digest, and how to read it back. */
interface ContentEntry {
  kind: string;
  what: string;
  read: (wire: Wire) => Promise<unknown>;
  expected: unknown;
}

/** What was sent and what was acknowledged: the truth that the service is held against. */
export interface Ledger {
  calls: Map<string, CallEntry>;
  contents: ContentEntry[];
  /** Acknowledged sides and contents, by kind. */
  acked(): Map<string, number>;
}

export function openLedger(): Ledger {
  const calls = new Map<string, CallEntry>();
  const contents: ContentEntry[] = [];
  return {
    calls,
    contents,
    acked() {
      const counts = new Map<string, number>();
      const add = (kind: string, n: number) => counts.set(kind, (counts.get(kind) ?? 0) + n);
      for (const { kind, start, end } of calls.values()) {
        add(kind, (start?.acked === true ? 1 : 0) + (end?.acked === true ? 1 : 0));
      }
      for (const { kind } of contents) add(kind, 1);
      return counts;
    },
  };
}
