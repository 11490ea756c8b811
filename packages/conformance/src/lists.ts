import type { Operation } from "./contract.js";
import { CheckSkipped } from "./exchange.js";
import type { Exchange } from "./exchange.js";
import type { Fixture } from "./fixture.js";
import type { RequestParts } from "./requests.js";
import { checkResponse } from "./response-check.js";

/** Where a list is told what it shall hold. */
export type ListPlace = "body" | "query";

interface ListResponse {
  /** The items of the stream, of the `rows` of the body, or of its first array. */
  items: unknown[];
  value: unknown;
  exchange: Exchange;
}

/** Members of an example that say which list it is about. */
const keptFilters = new Set(["evaluation_call_ids", "evaluation_run_ids"]);

/** The list of the example, without its filters, so that it is long, and with `values` where it takes them. */
export async function readList(
  operation: Operation,
  fixture: Fixture,
  place: ListPlace,
  values: Record<string, unknown>,
): Promise<ListResponse> {
  const { body: described, schemas, success } = operation;
  const example = fixture.own.request(operation);
  const required = described?.schema === undefined ? [] : schemas.resolved(described.schema).required;
  const body = Object.fromEntries(
    Object.entries(example.body ?? {}).filter(([name]) => required?.includes(name) || keptFilters.has(name)),
  );
  const request: RequestParts =
    place === "query"
      ? { ...example, params: { ...example.params, ...values } }
      : { ...example, body: { ...body, ...values } };
  const exchange = await fixture.send(operation, request);
  if (exchange.status === 404 && fixture.unserved.size > 0) throw new CheckSkipped("what it lists could not be stored");
  const value = checkResponse(operation, exchange, schemas, [success]);
  const { rows } = value as { rows?: unknown };
  const lists = Array.isArray(value) ? [value] : [rows, ...Object.values(value as object)];
  const items = lists.find((member) => Array.isArray(member));
  return { items: (items ?? []) as unknown[], value, exchange };
}
