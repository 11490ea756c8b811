import { request } from "node:http";
import type { Agent, IncomingMessage } from "node:http";
import { parseError } from "@clickhouse/client";
import type { ClickHouseSettings } from "@clickhouse/client";
import type { ParameterValue } from "./parameters.js";
import { withLiterals } from "./with-literals.js";

const timeoutMs = 60_000;

interface DirectStatement {
  sql: string;
  params: Readonly<Record<string, ParameterValue>>;
  settings: ClickHouseSettings;
  signal: AbortSignal | undefined;
}

/** Both throw what the client library throws. */
export interface DirectStatements {
  /** All rows. */
  rows<T>(statement: DirectStatement): Promise<T[]>;
  /** Rows one by one, with back-pressure. Leaving the loop stops the statement. */
  stream<T>(statement: DirectStatement): AsyncIterable<T>;
}

/**
 * Sends statements to the embedded engine, with one HTTP request of Node each over `agent`, which knows where it is. The
 * client library waits for a timer before it sends anything and wraps every row: half of the time of an empty statement.
 */
export function directStatements(agent: Agent, database: string): DirectStatements {
  const begin = (statement: DirectStatement) => send(agent, targetOf(database, statement.settings), statement);
  return {
    rows: async <T>(statement: DirectStatement) => await allRows<T>(await begin(statement)),
    stream: (statement) => eachRow(begin(statement)),
  };
}

/** Resolves to the response when it begins. */
async function send(agent: Agent, path: string, { sql, params, signal }: DirectStatement): Promise<IncomingMessage> {
  return await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { agent, path, method: "POST", ...(signal && { signal }) };
    const sending = request(options, (response) => {
      // From here on its reader decides how long it takes.
      sending.setTimeout(0);
      resolve(response);
    });
    sending.setTimeout(timeoutMs, () => sending.destroy(new Error("The engine did not respond in time")));
    sending.on("error", reject);
    sending.end(withLiterals(sql, params));
  });
}

function targetOf(database: string, settings: ClickHouseSettings): string {
  const fields = new URLSearchParams({ database, default_format: "JSONEachRow" });
  for (const [name, value] of Object.entries(settings)) {
    if (value !== undefined) fields.set(name, typeof value === "boolean" ? String(Number(value)) : String(value));
  }
  return `/?${fields.toString()}`;
}

async function allRows<T>(response: IncomingMessage): Promise<T[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  if (response.statusCode !== 200) throw parseError(text);
  return parseRows<T>(text);
}

async function* eachRow<T>(sent: Promise<IncomingMessage>): AsyncGenerator<T, void, undefined> {
  const response = await sent;
  if (response.statusCode !== 200) {
    await allRows(response);
    return;
  }
  /** The beginning of a row. */
  let begun: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf(lineEnd) + 1;
    if (end === 0 || begun[0]?.[0] === frameStart) {
      begun.push(chunk);
      continue;
    }
    const rows = Buffer.concat([...begun, chunk.subarray(0, end)]);
    begun = end === chunk.length ? [] : [chunk.subarray(end)];
    const frame = rows.indexOf(frameStart);
    yield* parseRows<T>(rows.toString("utf8", 0, frame === -1 ? rows.length : frame));
    if (frame !== -1) begun.unshift(rows.subarray(frame));
  }
  if (begun.length > 0) throw failureIn(Buffer.concat(begun).toString());
}

const lineEnd = 0x0a;
/** A carriage return begins the frame of an error behind the rows, and is in no row: inside of texts it is escaped. */
const frameStart = 0x0d;

/** Line ends inside of texts are escaped. */
function parseRows<T>(lines: string): T[] {
  return JSON.parse(`[${lines.trimEnd().replaceAll("\n", ",")}]`) as T[];
}

/**
 * The error that ended a result: the lines `__exception__` and the tag of the response, the message, and its size.
 * https://clickhouse.com/docs/interfaces/http#http_response_codes_caveats
 */
function failureIn(frame: string): Error {
  const [, message = frame] = /^\r\n__exception__\r\n\w+\r\n([^]*)\n\d+ \w+\r\n__exception__\r\n$/.exec(frame) ?? [];
  return parseError(message);
}
