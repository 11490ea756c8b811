import { dirname } from "node:path";
import { HeddleError } from "@heddle/errors";

/** ClickHouse errors of stored bytes that are not what was written, or no longer there. */
const corruptErrors = new Set([27, 32, 33, 40, 49, 107, 117, 226, 246, 271, 432]);

/**
 * The error of a statement that met stored data which cannot be read: `corrupt`, with the part in the message. Undefined
 * for any other error.
 */
export function corruptData(number: number, message: string, cause: unknown): HeddleError | undefined {
  if (!corruptErrors.has(number) && !/corrupted data/i.test(message)) return undefined;
  const path = corruptPath(message);
  if (path === undefined) return undefined;
  const name = (path.endsWith("/") && path.split("/").at(-2)) || path;
  const table = between(message, " in table ", " (")?.split(".")[1];
  const where = table === undefined ? `the part ${name}` : `the table ${table}, part ${name},`;
  return new HeddleError("corrupt", `The stored data of ${where} cannot be read: an operator has to restore it`, {
    cause,
  });
}

/** The directory of the part that a statement could not read, with a slash at the end. */
export function corruptPath(message: string): string | undefined {
  const part = between(message, "while reading from part ", " in table ");
  const file = between(message, "While reading or decompressing ", " (position: ");
  return part ?? (file && `${dirname(file)}/`);
}

/** The text between the first `before` and the next `after`. */
function between(text: string, before: string, after: string): string | undefined {
  const start = text.indexOf(before);
  const end = start < 0 ? -1 : text.indexOf(after, start + before.length);
  return end < 0 ? undefined : text.slice(start + before.length, end);
}
