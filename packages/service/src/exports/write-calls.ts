import { mainThread } from "@heddle/concurrency";
import { objectText } from "@heddle/exact-json";
import { writeJson } from "@heddle/server-stub";
import { leafAt } from "@heddle/trace-model";
import type { StoredCall } from "@heddle/trace-store";
import { readCompletionCall } from "../trace-to-training/recorded-completion.js";
import { wireCall } from "../wire/call.js";
import { LineEncoder } from "./call-encoder.js";
import type { CallEncoder } from "./call-encoder.js";
import { Columns } from "./columns.js";
import { csvLine, csvRow } from "./csv.js";
import type { ExportRequest } from "./export-request.js";
import { checkNames, ParquetEncoder } from "./parquet.js";

/** How calls are written. */
export interface CallWriter {
  mediaType: string;
  extension: string;
  /** What to read of each call; undefined for everything. */
  columns: readonly string[] | undefined;
  /** Whether rows have names of users. */
  hasUser: boolean;
  encoder: () => CallEncoder;
}

/** Throws `unprocessable` for a selection that calls do not have. */
export function callWriter({ format, select }: Extract<ExportRequest, { format: string }>): CallWriter {
  const jsonl = { mediaType: "application/jsonl", extension: "jsonl" };
  if (format === "chat_jsonl") {
    const columns = ["inputs", "output", "attributes", "exception", "ended_at"];
    return { ...jsonl, columns, hasUser: false, encoder: () => new LineEncoder("", chatLine) };
  }
  if (format === "jsonl" && select === undefined) {
    return { ...jsonl, columns: undefined, hasUser: false, encoder: () => new LineEncoder("", wholeLine) };
  }
  const columns = new Columns(select);
  const { names, stored, hasUser } = columns;
  const read = { columns: stored, hasUser };
  if (format === "csv") {
    return {
      ...read,
      mediaType: "text/csv; charset=utf-8",
      extension: "csv",
      encoder: () => new LineEncoder(csvLine(names), (call, user) => csvRow(columns.valuesOf(call, user))),
    };
  }
  if (format === "parquet") {
    checkNames(names);
    return {
      ...read,
      mediaType: "application/vnd.apache.parquet",
      extension: "parquet",
      encoder: () => new ParquetEncoder(columns),
    };
  }
  const line = (call: StoredCall, user: string | undefined) => {
    const values = columns.valuesOf(call, user);
    const members = names.flatMap((name, at) => (values[at] === undefined ? [] : [[name, values[at]] as const]));
    return `${oneLine(objectText(members))}\n`;
  };
  return { ...read, ...jsonl, encoder: () => new LineEncoder("", line) };
}

const wholeLine = (call: StoredCall): string => `${oneLine(writeJson(wireCall(call)))}\n`;

/** Line breaks between the tokens of JSON become spaces; in strings there are none. */
const oneLine = (json: string): string => (/[\n\r]/.test(json) ? json.replaceAll(/[\n\r]/g, " ") : json);

function chatLine(call: StoredCall): string | undefined {
  const completion = readCompletionCall(call);
  if (typeof completion === "string") return undefined;
  const { messages, choice, tools } = completion;
  const list = [...messages, leafAt(choice, ["message"]) ?? "null"].join(",");
  return `${oneLine(`{"messages":[${list}]${tools === undefined ? "" : `,"tools":${tools}`}}`)}\n`;
}

/** Rows are made this long before others get to run. */
const sliceMs = 4;

/** The bytes of an export, in chunks; what is not read is not made. */
export async function* writeCalls(
  calls: AsyncIterable<StoredCall>,
  writer: CallWriter,
  nameOf: (userId: string | null) => Promise<string | undefined>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = writer.encoder();
  let since = performance.now();
  for await (const call of calls) {
    const ready = encoder.add(call, writer.hasUser ? await nameOf(call.wb_user_id) : undefined);
    if (ready !== undefined) yield ready;
    if (performance.now() - since < sliceMs) continue;
    await mainThread.giveWay();
    since = performance.now();
  }
  const rest = encoder.end();
  if (rest.length > 0) yield rest;
}
