import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ServerError } from "../engine/server-error.js";

/** What a request asks for, apart from its body. */
export interface QueryRequest {
  queryId: string;
  /** The text of `query=`; the body follows it. */
  query: string;
  database: string | undefined;
  defaultFormat: string | undefined;
  /** `wait_end_of_query`: the response begins when the whole result is there. */
  waitsForEnd: boolean;
  /** Raw values as they came: text in TabSeparated escaping. */
  parameters: Map<string, string>;
  settings: Map<string, string>;
}

/** Parameters of the HTTP interface itself; any other name is a setting of the query. */
const interfaceParameters = new Set(
  (
    "query query_id database default_format user password quota_key " +
    "session_id session_timeout session_check close_session role " +
    "compress decompress buffer_size wait_end_of_query stacktrace client_protocol_version"
  ).split(" "),
);

export function readQueryRequest(request: IncomingMessage, parameters: URLSearchParams): QueryRequest {
  refuseUnsupported(parameters);
  const result: QueryRequest = {
    queryId: parameters.get("query_id") || randomUUID(),
    query: parameters.get("query") ?? "",
    database: parameters.get("database") || headerOf(request, "x-clickhouse-database"),
    defaultFormat: parameters.get("default_format") || headerOf(request, "x-clickhouse-format"),
    waitsForEnd: isOn(parameters.get("wait_end_of_query")),
    parameters: new Map(),
    settings: new Map(),
  };
  for (const [name, value] of parameters) addField(result, name, value);
  // As on a server: what must be safe to repeat may not write. `readonly` comes last, since it forbids SET.
  if (request.method === "GET" || request.method === "HEAD") result.settings.set("readonly", "2");
  return result;
}

/** Takes one `param_…` or setting, from the URL or from a form field. */
export function addField(request: QueryRequest, name: string, value: string): void {
  if (name.startsWith("param_")) request.parameters.set(name.slice("param_".length), value);
  else if (!interfaceParameters.has(name)) request.settings.set(name, value);
}

const unsupported = {
  session_id: "sessions",
  role: "roles",
  compress: "the native compression of responses",
  decompress: "the native compression of requests",
};

function refuseUnsupported(parameters: URLSearchParams): void {
  for (const [name, what] of Object.entries(unsupported)) {
    const value = parameters.get(name);
    if (value && value !== "0") {
      const text = `The embedded engine does not support ${what} (${name}).`;
      throw ServerError.of(48, "NOT_IMPLEMENTED", text);
    }
  }
}

export function isOn(value: string | null | undefined): boolean {
  return ![undefined, null, "0", "false"].includes(value);
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
