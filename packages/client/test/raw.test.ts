import { rawJson } from "@heddle/server-stub";
import { toFetch } from "@heddle/server-stub/fetch";
import { createTracingServer } from "@heddle/server-stub/tracing";
import { expect, expectTypeOf, test } from "vitest";
import { createTracingClient, createTrainingClient } from "../src/index.js";
import type { RawJson } from "../src/index.js";
import type { WithRaw } from "../src/raw/with-raw.js";
import type { CallReadResult, CallsQueryStreamItem } from "../src/tracing.js";

const baseUrl = "http://in-process";
const inputs = '{"big": 107505301260286111, "one":1.0,\n "a":1,"a":2}';
const call = {
  id: "c",
  project_id: "acme/demo",
  op_name: "o",
  trace_id: "t",
  started_at: "2026-01-01T00:00:00Z",
  attributes: rawJson("{}"),
  inputs: rawJson(inputs),
  output: rawJson("1.0"),
};
const server = createTracingServer({
  calls: {
    callRead: ({ body: { id } }) => ({ call: id === "c" ? call : null }),
    async *callsQueryStream() {
      yield call;
      yield { ...call, id: "d", output: rawJson("[1.50]") };
    },
  },
  objects: { objDelete: () => ({ num_deleted: 1 }) },
});
const tracing = createTracingClient({ baseUrl, fetch: toFetch(server), retries: 0 });
const raw = { raw: true } as const;

test("free JSON of a response is the text that was recorded", async () => {
  const read = await tracing.callRead({ project_id: "acme/demo", id: "c" }, raw);
  expect(read.call?.inputs.text).toBe(inputs);
  expect(read.call?.inputs.value).toEqual({ big: 107505301260286110, one: 1, a: 2 });
  expect(read.call?.output?.text).toBe("1.0");
  expect(read.call).toMatchObject({ id: "c", op_name: "o" });
  expectTypeOf(read.call!.inputs).toEqualTypeOf<RawJson<NonNullable<CallReadResult["call"]>["inputs"]>>();
  expectTypeOf(read.call!.id).toEqualTypeOf<string>();
  const parsed = await tracing.callRead({ project_id: "acme/demo", id: "c" });
  expect(parsed.call?.inputs).toMatchObject({ one: 1, a: 2 });
  expect(await tracing.callRead({ project_id: "acme/demo", id: "none" }, raw)).toEqual({ call: null });
});

test("a stream is read item by item", async () => {
  const outputs: (string | undefined)[] = [];
  for await (const item of tracing.callsQueryStream({ project_id: "acme/demo" }, raw)) {
    expectTypeOf(item.attributes).toEqualTypeOf<RawJson<CallsQueryStreamItem["attributes"]>>();
    outputs.push(item.output?.text);
    expect(item.inputs.text).toBe(inputs.replace("\n", " "));
  }
  expect(outputs).toEqual(["1.0", "[1.50]"]);
});

test("pages of a list are read item by item", async () => {
  const data = '{"step": 1.0}';
  const training = createTrainingClient({
    baseUrl,
    retries: 0,
    fetch: async ({ url }) => {
      const isFirst = !new URL(url).searchParams.has("after");
      const event = `{"id":"${isFirst ? "a" : "b"}","type":"x","message":"","data":${data}}`;
      return new Response(`{"data":[${event}],"has_more":${isFirst}}`);
    },
  });
  const seen: unknown[] = [];
  for await (const event of training.listTrainingJobEvents({ training_job_id: "j" }, raw))
    seen.push([event.id, event.data.text]);
  expect(seen).toEqual([
    ["a", data],
    ["b", data],
  ]);
});

test("a response that is not JSON is the error that it is without", async () => {
  for (const body of ["<html>", '{"call":{"inputs":{"a":1}', ""]) {
    const fetch = async () => new Response(body, { headers: { "content-type": "application/json" } });
    const client = createTracingClient({ baseUrl, fetch, retries: 0 });
    const outcome = async (options?: typeof raw) =>
      await client
        .callRead({ project_id: "acme/demo", id: "c" }, options as never)
        .catch((error: Error) => error.message);
    expect(await outcome(raw)).toEqual(await outcome());
  }
});

test("operations without free JSON do not take the option", async () => {
  // @ts-expect-error: it would have no effect
  expect(await tracing.objDelete({ project_id: "acme/demo", object_id: "o" }, raw)).toEqual({ num_deleted: 1 });
});

test("types follow the plan: members, lists and maps", () => {
  interface Result {
    id: string;
    rows?: { val: number; at: string }[] | null;
    byName: Record<string, { free?: { a: 1 } }>;
  }
  type Plan = { rows: { "[]": { val: "raw" } }; byName: { "*": { free: "raw" } } };
  interface Expected {
    id: string;
    rows?: { val: RawJson<number>; at: string }[] | null;
    byName: Record<string, { free?: RawJson<{ a: 1 }> }>;
  }
  expectTypeOf<WithRaw<Result, Plan>>().branded.toEqualTypeOf<Expected>();
});
