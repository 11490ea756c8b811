import { columnNames } from "./stored-call.js";
import type { CallRow } from "./stored-call.js";

/** What the column `brief` holds of a call, in its order. */
const briefColumns = [
  "trace_id",
  "parent_id",
  "thread_id",
  "turn_id",
  "op",
  "display_name",
  "user_id",
  "run_id",
  "run_step",
  "run_step_end",
  "state",
  "latency_us",
  "ended_us",
  "failure",
] as const satisfies ReadonlyArray<keyof CallRow>;

const inBrief: ReadonlySet<string> = new Set([...briefColumns, "exact"]);

/** A row of what {@link briefly} selects. */
export type BriefRow = { id: string; started_us: string; brief: string } & Partial<CallRow>;

/**
 * The same as a selection of `callColumns` from fewer columns: to read one costs the engine more than the few bytes in it.
 * `whole` reads what `brief` has not of every call, too: originals of payloads, and long exceptions.
 */
export function briefly(select: readonly string[], whole?: "whole"): string[] {
  const isRead = (name: string) =>
    !inBrief.has(name) || (whole === "whole" && (name === "exact" || name === "failure"));
  const names = columnNames(select);
  return ["brief", ...select.filter((_, index) => isRead(names[index] ?? ""))];
}

/** Reads rows of {@link briefly}; undefined of a call of which `brief` has not everything, and that was not read whole. */
export function briefReader(select: readonly string[]): (row: BriefRow) => CallRow | undefined {
  const names = new Set(columnNames(select));
  const wanted = briefColumns.flatMap((name, at) => (names.has(name) ? [{ name, at }] : []));
  return ({ brief, ...row }) => {
    const values = JSON.parse(brief) as Array<string | null>;
    if (row.exact === undefined && values[briefColumns.length] !== "all") return undefined;
    const read: Record<string, unknown> = { exact: {}, ...row };
    for (const { name, at } of wanted) read[name] ??= values[at];
    return read as unknown as CallRow;
  };
}

/** Characters of its texts. */
export const lengthOf = ({ brief, attributes, inputs, output, summary }: BriefRow): number =>
  [brief, attributes, inputs, output, summary].reduce((sum, text) => sum + (text?.length ?? 0), 0);
