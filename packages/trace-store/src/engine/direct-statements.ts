import { request } from "node:http";
import type { Agent, IncomingMessage } from "node:http";
import { parseError } from "@clickhouse/client";
import type { ClickHouseSettings } from "@clickhouse/client";
import type { ParameterValue } from "./parameters.js";
import { escaped, quoted } from "./tab-separated.js";

/** The part of an HTTP field of the engine that parameters and settings may take. */
const targetBytes = 32 * 1024;
const timeoutMs = 60_000;

interface DirectStatement {
  sql: string;
  params: Readonly<Record<string, ParameterValue>>;
  settings: ClickHouseSettings;
  signal: AbortSignal | undefined;
}

/**
 * Both are undefined for a statement whose parameters are too long to be sent this way, and throw what the client library
 * throws.
 */
export interface DirectStatements {
  /** All rows. */
  rows<T>(statement: DirectStatement): Promise<T[]> | undefined;
  /** Rows one by one, with back-pressure. Leaving the loop stops the statement. */
  stream<T>(statement: DirectStatement): AsyncIterable<T> | undefined;
}

/**
 * Sends statements with short parameters to the embedded engine, with one HTTP request of Node each over `agent`, which
 * knows where it is. The client library waits for a timer before it sends anything and wraps every row: half of the time
 * of an empty statement.
 */
export function directStatements(agent: Agent, database: string): DirectStatements {
  const targetFor = ({ params, settings }: DirectStatement) => {
    const target = targetOf(database, params, settings);
    return target.length > targetBytes ? undefined : target;
  };
  return {
    rows<T>(statement: DirectStatement) {
      const target = targetFor(statement);
      return target === undefined ? undefined : send(agent, target, statement).then((response) => allRows<T>(response));
    },
    stream(statement) {
      const target = targetFor(statement);
      return target === undefined ? undefined : eachRow(send(agent, target, statement));
    },
  };
}

/** Resolves to the response when it begins. */
async function send(agent: Agent, path: string, { sql, signal }: DirectStatement): Promise<IncomingMessage> {
  return await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { agent, path, method: "POST", ...(signal && { signal }) };
    const sending = request(options, (response) => {
      // From here on its reader decides how long it takes.
      sending.setTimeout(0);
      resolve(response);
    });
    sending.setTimeout(timeoutMs, () => sending.destroy(new Error("The engine did not respond in time")));
    sending.on("error", reject);
    sending.end(sql);
  });
}

function targetOf(
  database: string,
  params: Readonly<Record<string, ParameterValue>>,
  settings: ClickHouseSettings,
): string {
  const fields = new URLSearchParams({ database, default_format: "JSONEachRow" });
  for (const [name, value] of Object.entries(settings)) {
    if (value !== undefined) fields.set(name, typeof value === "boolean" ? String(Number(value)) : String(value));
  }
  for (const [name, value] of Object.entries(params)) fields.set(`param_${name}`, parameterText(value));
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

/** A value as the HTTP interface of ClickHouse takes it. */
function parameterText(value: ParameterValue): string {
  if (value === null) return String.raw`\N`;
  if (typeof value === "string") return escaped(value);
  if (typeof value !== "object") return String(value);
  return `[${value.map((item) => (typeof item === "string" ? quoted(item) : String(item))).join(",")}]`;
}
