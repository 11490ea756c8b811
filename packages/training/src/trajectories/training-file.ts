import { mainThread } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";

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

/** What a row must have; what it says in full is checked when it is tokenized. */
export type TrainingRowForm = "conversation" | "preference";

/**
 * Reads JSON Lines: an object per line, for a `conversation` with a list of `messages`. Blank lines are ignored. Other
 * work of the process goes on meanwhile. Throws `invalid` with the first invalid line and the reason, or with the
 * exceeded limit.
 */
export async function readTrainingRows(
  file: AsyncIterable<Uint8Array>,
  given: Partial<TrainingFileLimits> & { form?: TrainingRowForm } = {},
): Promise<TrainingRow[]> {
  const limits = { ...defaultLimits, form: "conversation" as const, ...given };
  const rows: TrainingRow[] = [];
  let [bytes, line] = [0, 1];
  let rest: Uint8Array[] = [];
  const add = (end: Uint8Array): void => {
    const row = readLine([...rest, end], line, limits);
    rest = [];
    if (row) rows.push({ line, row });
    if (rows.length > limits.rows) throw invalidFile(`line ${line}: more than ${limits.rows} rows`);
    line++;
  };
  for await (const chunk of file) {
    bytes += chunk.length;
    if (bytes > limits.bytes) throw invalidFile(`the training file has more than ${limits.bytes} bytes`);
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
    }
    rest.push(chunk.subarray(start));
    const length = rest.reduce((sum, part) => sum + part.length, 0);
    if (length > limits.lineBytes) throw invalidFile(`line ${line}: more than ${limits.lineBytes} bytes`);
    await mainThread.giveWay();
  }
  add(new Uint8Array());
  if (rows.length === 0) throw invalidFile("the training file has no rows");
  return rows;
}

function readLine(
  parts: Uint8Array[],
  line: number,
  { lineBytes, form }: { lineBytes: number; form: TrainingRowForm },
): Record<string, unknown> | undefined {
  const bytes = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
  if (bytes.length > lineBytes) throw invalidFile(`line ${line}: more than ${lineBytes} bytes`);
  return readRow(bytes, line, form);
}

function readRow(bytes: Uint8Array, line: number, form: TrainingRowForm): Record<string, unknown> | undefined {
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
  const { messages } = row;
  if (form === "conversation" && (!Array.isArray(messages) || messages.length === 0))
    throw invalidFile(`line ${line}: messages must be a list that is not empty`);
  return row;
}

function invalidFile(message: string): HeddleError {
  return new HeddleError("invalid", message, { loc: ["file"] });
}
