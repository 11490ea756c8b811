import type { ClientOptions, Connection } from "./connection.js";
import { connect } from "./connection.js";
import { bindOperations } from "./bind-operations.js";
import * as operations from "./generated/tracing.js";
import type { TracingClient } from "./generated/tracing.js";

export * from "./generated/tracing.js";
export * from "./errors.js";
export type { ClientOptions, Connection, RawRequestOptions, RequestOptions, ResponseInfo } from "./connection.js";
export type { RawJson } from "./raw/raw-json.js";

/**
 * What the single operations of this module take as their first argument, for programs that count bytes:
 * only the operations you import are bundled.
 *
 * ```ts
 * import { callStart, connectTracing } from "@heddle/client/tracing";
 * await callStart(connectTracing({ baseUrl, apiKey }), { start });
 * ```
 */
export function connectTracing(options: ClientOptions): Connection<"tracing"> {
  return connect(
    "tracing",
    options.apiKey && `Basic ${btoa(`api:${options.apiKey}`)}`,
    options,
    () => import("./generated/tracing-raw.js"),
  );
}

/**
 * Every operation of the tracing interface as a method.
 *
 * ```ts
 * const tracing = createTracingClient({ baseUrl: "http://127.0.0.1:4680", apiKey });
 * await tracing.callStart({ start });
 * for await (const call of tracing.callsQueryStream({ project_id: "acme/demo" })) console.log(call.id);
 * ```
 */
export function createTracingClient(options: ClientOptions): TracingClient {
  return bindOperations<TracingClient>(connectTracing(options), operations);
}
