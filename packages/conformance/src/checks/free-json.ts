import { randomUUID } from "node:crypto";
import { exactJson, exactTimes } from "../exact-values.js";
import { CheckFailure, CheckSkipped } from "../exchange.js";
import type { Exchange } from "../exchange.js";
import type { Operation } from "../contract.js";
import { evaluate, valueAt, withValueAt } from "../expressions.js";
import { checkError, checkResponse } from "../response-check.js";
import type { Fixture } from "../fixture.js";
import type { Case } from "./check.js";

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
  const { readBack: link, body } = operation;
  if (link === undefined || body?.kind !== "json") return [];
  const times = timesBeside(operation, fixture).map((pointer) => ({
    name: `exact time of ${pointer.slice(1)}`,
    run: async () => readTime(operation, fixture, pointer),
  }));
  const texts = shownBy(operation).flatMap((location) => {
    const pointer = pointerOf(location);
    const name = pointer.slice(1);
    const exactText = { name: `exact text of ${name}`, run: async () => readExact(operation, fixture, pointer) };
    // An item of a batch is refused on its own, each batch with an error of its own form.
    if (location.includes("/*")) return [exactText];
    const nested = {
      name: `${name} that nests too deeply`,
      run: async () => refuseNested(operation, fixture, pointer),
    };
    return [exactText, nested];
  });
  return [...texts, ...times];
}

/** Where the first of what a body has is shown. */
const pointerOf = (location: string): string => (location.split("#")[1] ?? "").replaceAll("/*", "/0");

const shownBy = ({ readBack: link }: Operation): string[] =>
  (link?.["x-heddle-shows"] ?? []).filter((location) => location.startsWith("$request.body#"));

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
  const request = fixture.own.request(operation);
  if (valueAt(request.body, pointer) === undefined) throw new CheckSkipped("the example has no such value");
  // Different each time, so that what an earlier run stored is not found.
  const json = exactJson(randomUUID());
  const exchange = await readBack(operation, fixture, written(operation, fixture, pointer, json));
  if (!exchange.text.includes(json)) {
    throw new CheckFailure("another text than was written", { expected: `exactly ${json}`, exchange });
  }
}

/** Sends a body and reads what it made, as the link of the operation says. */
async function readBack(
  operation: Operation,
  fixture: Fixture,
  { body, text }: { body: unknown; text: string },
): Promise<Exchange> {
  const { readBack: link, schemas } = operation;
  const request = fixture.own.request(operation);
  const response = checkResponse(operation, await fixture.send(operation, { ...request, body: text }), schemas, [
    operation.success,
  ]);
  const scope = { params: request.params ?? {}, body, response };
  const reader = fixture.operation(link?.operationId ?? "");
  const entries = Object.entries(link?.requestBody ?? {}).map(([name, expression]) => {
    const first = expression.replaceAll("/*", "/0");
    const value = first.includes("{")
      ? first.replace(/\{([^{}]*)\}/g, (_, inner: string) => String(evaluate(inner, scope)))
      : evaluate(first, scope);
    return [name, value];
  });
  const exchange = await fixture.send(reader, { body: Object.fromEntries(entries) });
  checkResponse(reader, exchange, reader.schemas, [reader.success]);
  return exchange;
}

/** Times beside free JSON are read to the microsecond. */
async function readTime(operation: Operation, fixture: Fixture, pointer: string): Promise<void> {
  const body = withValueAt(withFreshIds(fixture.own.request(operation).body), pointer, `${exactTimes.started_at}Z`);
  const exchange = await readBack(operation, fixture, { body, text: JSON.stringify(body) });
  if (exchange.text.includes(exactTimes.started_at)) return;
  throw new CheckFailure("another time than was written", { expected: exactTimes.started_at, exchange });
}

/** Pointers to the start of a call whose inputs are shown. */
function timesBeside(operation: Operation, fixture: Fixture): string[] {
  const { body } = fixture.own.request(operation);
  const pointers = shownBy(operation).map((location) => pointerOf(location).replace(/\/[^/]+$/, "/started_at"));
  return [...new Set(pointers)].filter((pointer) => typeof valueAt(body, pointer) === "string");
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
