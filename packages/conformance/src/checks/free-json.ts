import { randomUUID } from "node:crypto";
import { CheckFailure, CheckSkipped } from "../exchange.js";
import type { Operation } from "../contract.js";
import { evaluate, valueAt, withValueAt } from "../expressions.js";
import { checkResponse } from "../response-check.js";
import type { World } from "../world.js";
import type { Case } from "./check.js";

/** What `JSON.parse` and `JSON.stringify` would change. */
const exact =
  '{"float": 1.0, "big": 12345678901234567890, "small": 1e-7, "twice": 1, "twice": 2, "10": "b", "2": "a", "text": "\\u00e9\\/"}';

/** Free JSON is read as the text that was written. */
export function freeJsonCases(operation: Operation, world: World): Case[] {
  const { readBack, body } = operation;
  if (readBack === undefined || body?.kind !== "json") return [];
  return readBack["x-heddle-shows"]
    .filter((shown) => shown.startsWith("$request.body#"))
    .map((shown) => {
      const pointer = (shown.split("#")[1] ?? "").replaceAll("/*", "/0");
      return { name: `exact text of ${pointer.slice(1)}`, run: async () => readExact(operation, world, pointer) };
    });
}

async function readExact(operation: Operation, world: World, pointer: string): Promise<void> {
  const { readBack, schemas } = operation;
  const request = world.own.request(operation);
  if (valueAt(request.body, pointer) === undefined) throw new CheckSkipped("the example has no such value");
  const hole = randomUUID();
  const body = withValueAt(withFreshIds(request.body), pointer, hole);
  // Different each time, so that what an earlier run stored is not found.
  const written = exact.replace("{", `{"run": "${randomUUID()}", `);
  const text = JSON.stringify(body).replace(`"${hole}"`, () => written);
  const response = checkResponse(operation, await world.send(operation, { ...request, body: text }), schemas, [
    operation.success,
  ]);
  const scope = { params: request.params ?? {}, body, response };
  const reader = world.operation(readBack?.operationId ?? "");
  const entries = Object.entries(readBack?.requestBody ?? {}).map(([name, expression]) => {
    const first = expression.replaceAll("/*", "/0");
    const value = first.includes("{")
      ? first.replace(/\{([^}]*)\}/g, (_, inner: string) => String(evaluate(inner, scope)))
      : evaluate(first, scope);
    return [name, value];
  });
  const exchange = await world.send(reader, { body: Object.fromEntries(entries) });
  checkResponse(reader, exchange, reader.schemas, [reader.success]);
  if (!exchange.text.includes(written)) {
    throw new CheckFailure("another text than was written", { expected: `exactly ${written}`, exchange });
  }
}

/** Ids of records that the body makes, replaced: what exists is not overwritten. */
export function withFreshIds(body: unknown): unknown {
  const fresh = new Map<string, string>();
  return JSON.parse(JSON.stringify(body), (key, value: unknown) => {
    if (typeof value !== "string" || !["id", "trace_id", "call_id"].includes(key)) return value;
    const known = fresh.get(value) ?? randomUUID();
    fresh.set(value, known);
    return known;
  }) as unknown;
}
