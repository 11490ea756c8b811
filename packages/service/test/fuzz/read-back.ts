import { RawJson } from "@heddle/server-stub";
import { valueDigest } from "@heddle/trace-model";
import { expect } from "vitest";
import { operationOf, toRequest } from "../spec-requests.js";
import type { RequestParts, SpecOperation } from "../spec-requests.js";
import type { TestService } from "../test-service.js";
import { sharedIds, valuesByName } from "./words.js";

/** A link of a success response that says how to read what was written, and what the reading must show. */
interface ReadBack {
  operationId: string;
  requestBody: Record<string, string>;
  "x-heddle-shows": string[];
  /** Where the request gives one of these, the reading may differ. */
  "x-heddle-unless"?: string[];
}

/** What runtime expressions of OpenAPI look into. */
interface Exchange {
  params: Record<string, unknown>;
  body: unknown;
  response: unknown;
}

/**
 * Reads what a write responded with 2xx to, by the `readBack` link of its response, and compares it with what was sent.
 * A `*` in a link is the index of an item of a batch. Operations without such a link pass.
 */
export async function expectReadable(
  service: TestService,
  operation: SpecOperation,
  { params = {}, body }: RequestParts,
  reply: string,
  sample: RequestParts,
): Promise<void> {
  const link = readBackOf(operation);
  if (link === undefined) return;
  const exchange = { params, body, response: JSON.parse(reply) as unknown };
  // What several requests name may have been deleted, replaced or finished by another. Only a UUID that one item has is
  // an item's own.
  const shared = [...sharedIds, ...(valuesByName(sample).get("id") ?? [])];
  const requests = [...itemsOf(link, exchange)].filter(({ request }) => isOwn(request["id"], shared));
  const ids = requests.map(({ request }) => request["id"]);
  const own = requests.filter(({ request: { id } }) => id === undefined || ids.indexOf(id) === ids.lastIndexOf(id));
  await Promise.all(
    own.map(async ({ request, values }) => {
      const reading = await read(service, link.operationId, request);
      for (const sent of values) expectShown(reading, sent, exchange.response);
    }),
  );
}

function readBackOf({ model, path, method, success }: SpecOperation): ReadBack | undefined {
  const operation = model.document.paths[path]?.[method] as
    | { responses?: Record<string, { links?: Record<string, ReadBack> }> }
    | undefined;
  return operation?.responses?.[success.status]?.links?.["readBack"];
}

/** The reading of each item that was stored, or the one reading of a request without items. */
function* itemsOf(
  { requestBody, "x-heddle-shows": shows, "x-heddle-unless": unless = [] }: ReadBack,
  exchange: Exchange,
): Generator<{ request: Record<string, unknown>; values: unknown[] }> {
  const { errors = [] } = exchange.response as { errors?: { index: number }[] };
  const refused = new Set(errors.map(({ index }) => index));
  const batch = Object.values(requestBody).find((expression) => expression.includes("/*"));
  const count = batch === undefined ? 1 : listOf(evaluate(batch.slice(0, batch.indexOf("/*")), exchange)).length;
  for (let index = 0; index < count; index++) {
    if (refused.has(index)) continue;
    const valueOf = (expression: string) => evaluate(expression.replace("/*", `/${index}`), exchange);
    const request = Object.fromEntries(
      Object.entries(requestBody).map(([name, expression]) => [name, asText(valueOf(expression))]),
    );
    if (Object.values(request).includes(undefined)) continue;
    const differs = unless.some((expression) => (valueOf(expression) ?? null) !== null);
    const values = shows.flatMap((show) =>
      everyValue(batch === undefined ? show : show.replace("/*", `/${index}`), exchange),
    );
    yield { request, values: differs ? [] : values };
  }
}

/** All values of an expression that ends in `/*`, or its one value. */
function everyValue(expression: string, exchange: Exchange): unknown[] {
  const list = /^(.*)\/\*$/.exec(expression)?.[1];
  return list === undefined ? [evaluate(expression, exchange)] : listOf(evaluate(list, exchange));
}

/** A runtime expression of OpenAPI; undefined where it leads nowhere. */
function evaluate(expression: string, exchange: Exchange): unknown {
  if (expression.includes("{")) {
    return expression.replace(/\{([^}]*)\}/g, (_, inner: string) => String(evaluate(inner, exchange)));
  }
  const path = /^\$request\.path\.(.+)$/.exec(expression)?.[1];
  if (path !== undefined) return exchange.params[path];
  const [source = "", pointer = ""] = expression.split("#");
  let value = source === "$request.body" ? exchange.body : exchange.response;
  for (const step of pointer.split("/").slice(1)) {
    if (value instanceof RawJson) value = value.value;
    value = (value as Record<string, unknown> | null | undefined)?.[step];
  }
  return value;
}

interface Reading {
  bytes: Buffer;
  /** Whether the reading is the bytes of a file, and not JSON. */
  file: boolean;
}

async function read(service: TestService, id: string, body: Record<string, unknown>): Promise<Reading> {
  const operation = operationOf(id);
  const headers = { authorization: `Bearer ${service.owner_key}` };
  const response = await service.fetch(...toRequest(operation, { body }, headers));
  const bytes = Buffer.from(await response.arrayBuffer());
  expect([id, body, response.status, response.status === 200 ? "" : bytes.toString()]).toEqual([id, body, 200, ""]);
  return { bytes, file: operation.success.contents.some(({ kind }) => kind === "bytes") };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function isOwn(id: unknown, shared: readonly unknown[]): boolean {
  return id === undefined || (typeof id === "string" && uuid.test(id) && !shared.includes(id));
}

/** The reading holds the text that was sent; bare NaN and infinities come back as null, internal refs as external. */
function expectShown({ bytes, file }: Reading, sent: unknown, response: unknown): void {
  if (file) {
    expect(bytes.toString("latin1")).toBe(Buffer.from(sent as string | Uint8Array).toString("latin1"));
    return;
  }
  if (!(sent instanceof RawJson) || /NaN|Infinity|weave-trace-internal/.test(sent.text)) return;
  const text = bytes.toString();
  if (text.includes(sent.text)) return;
  // Content is kept by digest: of two spellings of one value, as `[]` and `[ ]`, the first stays.
  const digest = valueDigest(sent.text);
  if (text.includes(digest) || JSON.stringify(response).includes(digest)) return;
  expect(text).toContain(sent.text);
}

/** The value of free JSON where a text is wanted. */
function asText(value: unknown): unknown {
  return value instanceof RawJson ? value.value : value;
}

function listOf(value: unknown): unknown[] {
  const list = asText(value);
  return Array.isArray(list) ? (list as unknown[]) : [];
}
