import { CheckFailure, NotImplemented } from "./exchange.js";
import type { Exchange } from "./exchange.js";
import type { Operation } from "./contract.js";
import type { PlanOperation, PlanResponse } from "./plan.js";
import type { Schemas } from "./schemas.js";

type Content = PlanResponse["contents"][number];

/**
 * Returns the value of a response: parsed JSON, the items of a stream, or bytes. Throws `CheckFailure` when its status is
 * none of `statuses`, or when its media type or body are not those of the spec; `NotImplemented` for 501.
 */
export function checkResponse(
  operation: PlanOperation,
  exchange: Exchange,
  schemas: Schemas,
  statuses: readonly number[] = Object.keys(operation.responses).map(Number),
): unknown {
  expectStatus(operation, exchange, statuses);
  return checkDescribed(operation, exchange, schemas);
}

/** Throws `CheckFailure` unless the response is an error with this status, in the error body of the operation. */
export function checkError(operation: PlanOperation, exchange: Exchange, schemas: Schemas, status: number): unknown {
  expectStatus(operation, exchange, [status]);
  return checkDescribed(operation, exchange, schemas);
}

/** As `checkError`, for statuses of paths, which are described for the whole interface. */
export function checkPathError(operation: Operation, exchange: Exchange, status: number): void {
  const { plan, schemas } = operation;
  expectStatus(operation, exchange, [status]);
  const $ref = `#/components/schemas/${plan.interface === "tracing" ? "ReasonError" : "DetailError"}`;
  checkContent({ contents: [{ mediaType: "application/json", kind: "json", schema: { $ref } }] }, exchange, schemas);
}

function expectStatus({ id }: PlanOperation, exchange: Exchange, statuses: readonly number[]): void {
  const { status } = exchange;
  if (status === 501) throw new NotImplemented(`${id} responds with 501`);
  if (statuses.includes(status)) return;
  throw new CheckFailure(`status ${status}`, { expected: `status ${statuses.join(" or ")}`, exchange });
}

function checkDescribed({ responses }: PlanOperation, exchange: Exchange, schemas: Schemas): unknown {
  const response = responses[exchange.status];
  if (response !== undefined) return checkContent(response, exchange, schemas);
  const expected = `status ${Object.keys(responses).join(" or ")}`;
  throw new CheckFailure(`status ${exchange.status}, which is not described`, { expected, exchange });
}

function checkContent({ contents }: PlanResponse, exchange: Exchange, schemas: Schemas): unknown {
  const mediaType = exchange.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  const content = contents.find((candidate) => candidate.mediaType === mediaType);
  if (contents.length === 0) return undefined;
  if (content === undefined) {
    const expected = `content-type ${contents.map((candidate) => candidate.mediaType).join(" or ")}`;
    throw new CheckFailure(`content-type ${mediaType || "missing"}`, { expected, exchange });
  }
  if (content.kind === "bytes") return exchange.bytes;
  if (content.kind === "json") {
    const value = parse(exchange.text, "the body", exchange);
    checkSchema(content, value, "the body", exchange, schemas);
    return value;
  }
  const items = content.kind === "jsonl" ? linesOf(exchange) : eventsOf(exchange);
  for (const [index, item] of items.entries()) checkSchema(content, item, `item ${index}`, exchange, schemas);
  return items;
}

function checkSchema({ schema }: Content, value: unknown, what: string, exchange: Exchange, schemas: Schemas): void {
  const violation = schema && schemas.violation(schema, value);
  if (violation === undefined) return;
  const name = schema?.$ref?.split("/").at(-1) ?? "its schema";
  throw new CheckFailure(`in ${what}: ${violation}`, { expected: `a body that fits ${name}`, exchange });
}

function parse(text: string, what: string, exchange: Exchange): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CheckFailure(`${what} is not JSON: ${reason}`, { expected: "JSON", exchange });
  }
}

/** The items of a stream of lines. */
function linesOf(exchange: Exchange): unknown[] {
  const lines = exchange.text.split("\n");
  if (lines.pop() !== "") {
    throw new CheckFailure("the last line does not end", { expected: "a line end after every line", exchange });
  }
  return lines.map((line, index) => parse(line, `line ${index + 1}`, exchange));
}

/** The items of a stream of events, without the `[DONE]` that ends it. */
function eventsOf(exchange: Exchange): unknown[] {
  const events = exchange.text.replaceAll("\r\n", "\n").split("\n\n");
  if (events.pop() !== "") {
    throw new CheckFailure("the last event does not end", { expected: "an empty line after every event", exchange });
  }
  const data = events.flatMap((event) => {
    const fields = event
      .split("\n")
      .filter((line) => !line.startsWith(":"))
      .map((line) => {
        const field = /^data: ?(.*)$/.exec(line)?.[1];
        if (field === undefined && !/^(event|id|retry):/.test(line)) {
          const message = `a line of an event is not a field: ${line.slice(0, 80)}`;
          throw new CheckFailure(message, { expected: "lines that begin with data:", exchange });
        }
        return field;
      })
      .filter((field) => field !== undefined);
    // Without data it is not an event, but an id or a sign of life.
    return fields.length === 0 ? [] : [fields.join("\n")];
  });
  if (data.at(-1) !== "[DONE]") {
    throw new CheckFailure("the stream does not end with [DONE]", { expected: "data: [DONE] as last event", exchange });
  }
  return data.slice(0, -1).map((text, index) => parse(text, `event ${index + 1}`, exchange));
}
