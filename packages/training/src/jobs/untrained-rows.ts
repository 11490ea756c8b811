import { HeddleError, mapErrors } from "@heddle/errors";

/** Lines that an event names; further ones are counted. */
const namedLines = 20;

/**
 * What the first event says of rows that are not trained; undefined if all are. Throws `invalid` when none is: the job
 * would change nothing.
 */
export function untrainedRows(
  rows: number,
  groups: readonly { lines: readonly number[]; reason: string }[],
): string | undefined {
  const found = groups.filter(({ lines }) => lines.length > 0);
  if (found.length === 0) return undefined;
  const text = found.map(({ lines, reason }) => `${lines.length} ${reason} (lines ${named(lines)})`).join("; ");
  if (found.reduce((sum, { lines }) => sum + lines.length, 0) === rows) {
    throw new HeddleError("invalid", `Nothing can be trained: ${text}.`, { loc: ["rows"] });
  }
  return `Not trained: ${text}.`;
}

function named(lines: readonly number[]): string {
  return lines.slice(0, namedLines).join(", ") + (lines.length > namedLines ? " and others" : "");
}

/** Adds the line of a row to the message of an error. */
export function atLine<T>(line: number, read: () => Promise<T>): Promise<T> {
  return mapErrors((error) => error.with({ message: `line ${line}: ${error.message}` }), read);
}
