import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/durable-files";

/** A row of a file for supervised training. `line` counts from 1. */
export interface TrainingRow {
  line: number;
  row: Record<string, unknown>;
}

export interface TrainingFileLimits {
  bytes: number;
  lineBytes: number;
  rows: number;
}

const defaultLimits: TrainingFileLimits = { bytes: 256 << 20, lineBytes: 16 << 20, rows: 1_000_000 };

/**
 * Reads JSON Lines: an object with a list of `messages` per line. Blank lines are ignored. Throws `invalid` with the
 * first invalid line and the reason, or with the exceeded limit.
 */
export function readTrainingRows(file: string | Uint8Array, given: Partial<TrainingFileLimits> = {}): TrainingRow[] {
  const limits = { ...defaultLimits, ...given };
  const bytes = typeof file === "string" ? new TextEncoder().encode(file) : file;
  if (bytes.length > limits.bytes) {
    throw invalidFile(`the training file has ${bytes.length} bytes; at most ${limits.bytes} are read`);
  }
  const rows: TrainingRow[] = [];
  for (let start = 0, line = 1; start < bytes.length; line++) {
    const found = bytes.indexOf(0x0a, start);
    const end = found < 0 ? bytes.length : found;
    if (end - start > limits.lineBytes) throw invalidFile(`line ${line}: more than ${limits.lineBytes} bytes`);
    const row = readRow(bytes.subarray(start, end), line);
    if (row) rows.push({ line, row });
    if (rows.length > limits.rows) throw invalidFile(`line ${line}: more than ${limits.rows} rows`);
    start = end + 1;
  }
  if (rows.length === 0) throw invalidFile("the training file has no rows");
  return rows;
}

function readRow(bytes: Uint8Array, line: number): Record<string, unknown> | undefined {
  let row: unknown;
  try {
    // A byte order mark at the beginning of the file is dropped here.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).trim();
    if (text === "") return undefined;
    row = JSON.parse(text);
  } catch (error) {
    const utf8 = error instanceof TypeError;
    throw invalidFile(
      `line ${line}: not valid ${utf8 ? "UTF-8" : `JSON: ${error instanceof Error ? error.message : ""}`}`,
    );
  }
  if (!isJsonObject(row)) throw invalidFile(`line ${line}: not a JSON object`);
  if (!Array.isArray(row["messages"]) || row["messages"].length === 0)
    throw invalidFile(`line ${line}: messages must be a list that is not empty`);
  return row;
}

function invalidFile(message: string): HeddleError {
  return new HeddleError("invalid", message, { loc: ["file"] });
}
