import { randomUUID } from "node:crypto";
import { CheckFailure, CheckSkipped } from "../exchange.js";
import type { Operation } from "../contract.js";
import { evaluate, valueAt, withValueAt } from "../expressions.js";
import { checkError, checkResponse } from "../response-check.js";
import type { Fixture } from "../fixture.js";
import type { Case } from "./check.js";

/** What `JSON.parse` and `JSON.stringify` would change. */
const exact =
  '{"float": 1.0, "big": 12345678901234567890, "small": 1e-7, "twice": 1, "twice": 2, "10": "b", "2": "a", "text": "\\u00e9\\/"}';

/** Deeper than free JSON may nest. */
const tooDeep = `{"a": ${"[".repeat(300)}${"]".repeat(300)}}`;

/** What the examples have and free JSON of any form may not have next to it, by operation and pointer. */
const changes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  objCreate: { "/obj/object_id": "exact-text" },
  feedbackCreate: { "/feedback_type": "conformance" },
  feedbackCreateBatch: { "/batch/0/feedback_type": "conformance" },
};

/** Free JSON is read as the text that was written. */
export function freeJsonCases(operation: Operation, fixture: Fixture): Case[] {
  const { readBack, body } = operation;
  if (readBack === undefined || body?.kind !== "json") return [];
  return readBack["x-heddle-shows"]
    .filter((shown) => shown.startsWith("$request.body#"))
    .flatMap((shown) => {
      const pointer = (shown.split("#")[1] ?? "").replaceAll("/*", "/0");
      const name = pointer.slice(1);
      const exactText = { name: `exact text of ${name}`, run: async () => readExact(operation, fixture, pointer) };
      // An item of a batch is refused on its own, each batch with an error of its own form.
      if (shown.includes("/*")) return [exactText];
      const nested = {
        name: `${name} that nests too deeply`,
        run: async () => refuseNested(operation, fixture, pointer),
      };
      return [exactText, nested];
    });
}

async function refuseNested(operation: Operation, fixture: Fixture, pointer: string): Promise<void> {
  const { text } = written(operation, fixture, pointer, tooDeep);
  const exchange = await fixture.send(operation, { ...fixture.own.request(operation), body: text });
  checkError(operation, exchange, operation.schemas, 413);
}

/** A request body with this text at a pointer. */
function written({ id }: Operation, fixture: Fixture, pointer: string, json: string): { body: unknown; text: string } {
  const operation = fixture.operation(id);
  const hole = randomUUID();
  let body = withValueAt(withFreshIds(fixture.own.request(operation).body), pointer, hole);
  for (const [at, value] of Object.entries(changes[id] ?? {})) body = withValueAt(body, at, value);
  return { body, text: JSON.stringify(body).replace(`"${hole}"`, () => json) };
}

async function readExact(operation: Operation, fixture: Fixture, pointer: string): Promise<void> {
  const { readBack, schemas } = operation;
  const request = fixture.own.request(operation);
  if (valueAt(request.body, pointer) === undefined) throw new CheckSkipped("the example has no such value");
  // Different each time, so that what an earlier run stored is not found.
  const json = exact.replace("{", `{"run": "${randomUUID()}", `);
  const { body, text } = written(operation, fixture, pointer, json);
  const response = checkResponse(operation, await fixture.send(operation, { ...request, body: text }), schemas, [
    operation.success,
  ]);
  const scope = { params: request.params ?? {}, body, response };
  const reader = fixture.operation(readBack?.operationId ?? "");
  const entries = Object.entries(readBack?.requestBody ?? {}).map(([name, expression]) => {
    const first = expression.replaceAll("/*", "/0");
    const value = first.includes("{")
      ? first.replace(/\{([^{}]*)\}/g, (_, inner: string) => String(evaluate(inner, scope)))
      : evaluate(first, scope);
    return [name, value];
  });
  const exchange = await fixture.send(reader, { body: Object.fromEntries(entries) });
  checkResponse(reader, exchange, reader.schemas, [reader.success]);
  if (!exchange.text.includes(json)) {
    throw new CheckFailure("another text than was written", { expected: `exactly ${json}`, exchange });
  }
}

/** Ids of records that the body makes, replaced: what exists is not overwritten. */
function withFreshIds(body: unknown): unknown {
  const fresh = new Map<string, string>();
  return JSON.parse(JSON.stringify(body), (key, value: unknown) => {
    if (typeof value !== "string" || !["id", "trace_id", "call_id"].includes(key)) return value;
    const known = fresh.get(value) ?? randomUUID();
    fresh.set(value, known);
    return known;
  }) as unknown;
}
