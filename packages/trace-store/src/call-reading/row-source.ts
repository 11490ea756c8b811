import type { OrderPosition } from "../query/seek.js";
import type { CallRow } from "../stored-calls/stored-call.js";

/** A call of a page by one of its rows. */
export interface PageRow {
  id: string;
  version: bigint;
  /** Microseconds since 1970. */
  started_at: bigint;
  /** Of its payloads. */
  bytes: number;
  /** All that was asked for of it; undefined where only its key was read. */
  whole?: CallRow | undefined;
  /** The columns that a list shows of it, as they were with its key. */
  shown?: Readonly<Record<string, unknown>> | undefined;
  /** Its place in the order of a plan that seeks. */
  position?: OrderPosition | undefined;
}

/**
 * Reads rows of a list in its order, the first ones, at most `most`; `complete` when there are no others. A call may have several
 * rows, in one source or in two: the newest counts.
 */
export type RowSource = (most: number) => Promise<{ rows: PageRow[]; complete: boolean }>;

/** Where rows are. */
export const located = (rows: ReadonlyArray<Pick<PageRow, "id" | "started_at">>) => ({
  ids: rows.map(({ id }) => id),
  started_at: [...new Set(rows.map(({ started_at }) => started_at))],
});
