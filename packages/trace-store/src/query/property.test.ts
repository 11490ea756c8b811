import { parseCallField, parseQuery } from "@heddle/trace-model";
import { matches } from "@heddle/trace-model/testing";
import type { CallEnd, CallPart, CallStart } from "@heddle/trace-model";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newProject } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await db.open();
});
afterAll(() => db.drop());

/** Few texts and numbers, so that calls and queries meet; the odd ones are where engines and languages disagree. */
const texts = [
  "",
  "a",
  "b",
  "A",
  "ab",
  "ä",
  "1",
  "1.0",
  "2",
  "-1",
  "01",
  "1e2",
  "nan",
  "inf",
  "true",
  "false",
  "null",
  "x/y",
  'q"u',
  "a b",
  "'",
  "\\",
  "%",
  "\n",
  "{p0:String}",
  "0x1",
  " 1",
  "+2",
  ".5",
  "100",
];
const text = fc.constantFrom(...texts);
const number = fc.constantFrom(0, 1, 2, -1, 0.5, 1.5, 100, 1e15, 1e-3, 9007199254740992);
const integer = fc.constantFrom(9007199254740993n, -9007199254740993n, 9223372036854775807n, 18446744073709551615n);
const key = fc.oneof(
  { arbitrary: fc.constantFrom("a", "b"), weight: 3 },
  fc.constantFrom("0", "1", "a.b", "", "weave", "status_counts", "error"),
);

const objectOf = (members: Record<string, string>): string =>
  `{${Object.entries(members)
    .map(([name, value]) => `${JSON.stringify(name)}: ${value}`)
    .join(",")}}`;

/** JSON texts, spaced as people write them. */
const { json, object } = fc.letrec<{ json: string; object: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("null", "true", "false", "1.0", "1e2", "0", "-1", "0.50", '"\\u0061"', "[]", "{}", " 1 "),
    text.map((value) => JSON.stringify(value)),
    number.map(String),
    integer.map(String),
    fc.array(tie("json"), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
    tie("object"),
  ),
  object: fc.dictionary(key, tie("json"), { maxKeys: 4 }).map(objectOf),
}));

const t0 = 1_775_811_600_000_000n;
const us = fc.constantFrom(t0, t0 + 1n, t0 + 1_000_000n, t0 + 1_500_000n, t0 - 3_600_000_000n, t0 + 86_400_000_000n);
const maybe = (values: readonly string[]) => fc.option(fc.constantFrom(...values), { nil: undefined });

const start = fc.record({
  op_name: fc.constantFrom(
    "answer",
    "X.score",
    "weave:///acme/demo/op/answer:abc",
    "weave:///acme/demo/op/other:1",
    "a",
  ),
  trace_id: fc.constantFrom("t1", "t2"),
  started_at: us,
  parent_id: maybe(["p1", "a"]),
  thread_id: maybe(["h1", "1"]),
  turn_id: maybe(["a"]),
  display_name: maybe(["a", "Zoë", ""]),
  wb_user_id: maybe(["u1"]),
  wb_run_id: maybe(["e/p/r"]),
  wb_run_step: fc.option(fc.constantFrom(0, 1, 2), { nil: undefined }),
  attributes: fc.oneof(
    { arbitrary: object, weight: 3 },
    fc.constantFrom('{"weave":{"kind":"tool"}}', '{"kind":"LLM"}'),
  ),
  inputs: object,
});
const end = fc.record({
  ended_at: us,
  output: json,
  summary: fc.oneof(
    object,
    fc.constantFrom(
      '{"usage":{"gpt":{"prompt_tokens":1}}}',
      '{"status_counts":{"error":1}}',
      '{"status_counts":{"error":0}}',
    ),
  ),
  exception: maybe(["boom", "1", ""]),
  wb_run_step_end: fc.option(fc.constantFrom(1, 5), { nil: undefined }),
});
const call = fc.record({ start, end: fc.option(end, { nil: undefined, freq: 3 }) });

const path = fc
  .array(key, { minLength: 1, maxLength: 3 })
  .map((keys) => keys.map((name) => name.replaceAll(".", "\\.")).join("."));
const field = fc.oneof(
  {
    arbitrary: fc.constantFrom(
      "id",
      "trace_id",
      "parent_id",
      "thread_id",
      "turn_id",
      "op_name",
      "display_name",
      "started_at",
      "ended_at",
      "exception",
      "wb_user_id",
      "wb_run_id",
      "wb_run_step",
      "wb_run_step_end",
      "deleted_at",
    ),
    weight: 3,
  },
  {
    arbitrary: fc.constantFrom(
      "summary.weave.status",
      "summary.weave.latency_ms",
      "summary.weave.trace_name",
      "summary.weave.kind",
      "output",
      "feedback.[*].payload.x",
      "annotation_queue_items.queue_id",
    ),
    weight: 2,
  },
  {
    arbitrary: fc
      .tuple(fc.constantFrom("inputs", "output", "attributes", "summary"), path)
      .map(([root, rest]) => `${root}.${rest}`),
    weight: 5,
  },
);
const literal = fc.oneof(
  text,
  number,
  integer,
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom(
    "2026-04-10T09:00:00Z",
    Number(t0 / 1_000_000n),
    "error",
    "success",
    "running",
    "[]",
    "[1]",
    "answer",
  ),
);

interface Operand {
  [operator: string]: unknown;
}
const comparison = fc.constantFrom("$eq", "$gt", "$gte", "$lt", "$lte");

/** Fields with values that calls have there: of two things taken blindly hardly any query finds some calls and not all. */
const moments = ["2026-04-10T09:00:00Z", "2026-04-10T09:00:01Z", "2026-04-10T08:00:00Z", Number(t0 / 1_000_000n)];
const present = fc.oneof(
  ...Object.entries<readonly unknown[]>({
    op_name: ["answer", "a", "weave:///acme/demo/op/other:1"],
    trace_id: ["t1", "t2"],
    parent_id: ["p1", "a", null],
    thread_id: ["h1", "1", 1, null],
    display_name: ["a", "Zoë", null],
    exception: ["boom", 1, null],
    started_at: moments,
    ended_at: [...moments, null],
    wb_run_step: [0, 1, "1", null],
    "summary.weave.status": ["success", "error", "running", "descendant_error"],
    "summary.weave.latency_ms": [0, 1000, "1500", -1],
    "summary.weave.trace_name": ["answer", "other", "Zoë"],
    "summary.weave.kind": ["tool", "model", "scorer", "other"],
  }).map(([name, values]) => fc.tuple(fc.constant(name), fc.constantFrom(...values))),
  {
    arbitrary: fc.tuple(
      fc.constantFrom("inputs.a", "inputs.b", "attributes.a", "attributes.b", "output", "output.a", "summary.a"),
      fc.oneof(text, number, integer, fc.boolean(), fc.constant(null)),
    ),
    weight: 8,
  },
);
const { condition } = fc.letrec<{ operand: Operand; condition: Operand }>((tie) => ({
  operand: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    field.map((name): Operand => ({ $getField: name })),
    literal.map((value): Operand => ({ $literal: value })),
    fc
      .tuple(tie("operand"), fc.constantFrom("double", "string", "int", "bool", "exists"))
      .map(([input, to]): Operand => ({ $convert: { input, to } })),
    field.map((name): Operand => ({ $size: { $getField: name } })),
    tie("condition"),
  ),
  condition: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    {
      arbitrary: fc
        .tuple(comparison, present)
        .map(([op, [name, value]]): Operand => ({ [op]: [{ $getField: name }, { $literal: value }] })),
      weight: 3,
    },
    fc
      .tuple(comparison, field, literal)
      .map(([op, name, value]): Operand => ({ [op]: [{ $getField: name }, { $literal: value }] })),
    fc.tuple(comparison, tie("operand"), tie("operand")).map(([op, left, right]): Operand => ({ [op]: [left, right] })),
    fc
      .tuple(
        tie("operand"),
        fc.oneof(
          fc.array(text, { maxLength: 3 }),
          fc.array(fc.oneof(number, integer), { maxLength: 3 }),
          fc.array(fc.boolean(), { maxLength: 2 }),
        ),
      )
      .map(([input, list]): Operand => ({ $in: [input, list.map((value) => ({ $literal: value }))] })),
    fc.tuple(present, text).map(([[name, value], other]): Operand => ({
      $in: [
        { $getField: name },
        [typeof value === "number" || typeof value === "bigint" ? 2 : other, value].map(($literal) => ({ $literal })),
      ],
    })),
    fc
      .tuple(
        fc.oneof(
          tie("operand"),
          present.map(([name]): Operand => ({ $getField: name })),
        ),
        fc.oneof(text, fc.constantFrom("a", "e", "1", "s")),
        fc.boolean(),
      )
      .map(([input, substr, caseInsensitive]): Operand => ({
        $contains: { input, substr: { $literal: substr }, case_insensitive: caseInsensitive },
      })),
    fc
      .tuple(
        fc.constantFrom("$and", "$or"),
        fc.array(fc.oneof({ arbitrary: tie("condition"), weight: 3 }, tie("operand")), { minLength: 1, maxLength: 3 }),
      )
      .map(([op, list]): Operand => ({ [op]: list })),
    fc.oneof({ arbitrary: tie("condition"), weight: 3 }, tie("operand")).map((inner): Operand => ({ $not: [inner] })),
  ),
}));

interface GeneratedCall {
  start: Omit<CallStart, "project_id" | "id">;
  end: Omit<CallEnd, "project_id" | "id"> | undefined;
}

function toPart(projectId: string, id: string, { start: begun, end: ended }: GeneratedCall): CallPart {
  const begin = { ...begun, project_id: projectId, id };
  return ended === undefined
    ? { part: "start", start: begin }
    : { part: "complete", start: begin, end: { ...ended, project_id: projectId, id } };
}

it("finds for any query just the calls that a plain evaluation of it finds", async () => {
  const seed = Number(process.env["HEDDLE_PROPERTY_SEED"] ?? 20_260_410);
  const [calls] = fc.sample(fc.array(call, { minLength: 60, maxLength: 60 }), { seed, numRuns: 1 });
  const projectId = newProject();
  const stored = (calls ?? []).map((generated, index) => ({ id: `c${index}`, generated }));
  const rejected = await store.ingest(stored.map(({ id, generated }) => toPart(projectId, id, generated)));
  expect(rejected).toEqual([]);

  const numRuns = Number(process.env["PROPERTY_RUNS"] ?? 40);
  let telling = 0;
  const property = fc.asyncProperty(condition, async (where) => {
    const query = { $expr: where };
    const expression = attempt(() => parseQuery(query, parseCallField));
    fc.pre(expression !== undefined);
    const expected = stored
      .filter(({ id, generated }) =>
        matches(expression, { project_id: projectId, id, ...generated.start, summary: "{}", ...generated.end }),
      )
      .map(({ id }) => id);
    if (expected.length > 0 && expected.length < stored.length) telling++;
    const found: string[] = [];
    for await (const { id } of store.calls.query({ project_id: projectId, query, columns: ["id"] })) found.push(id);
    // A page finds running calls in memory.
    const page: string[] = [];
    for await (const { id } of store.calls.query({ project_id: projectId, query, columns: ["id"], limit: 100 }))
      page.push(id);
    expect(page.toSorted()).toEqual(found.toSorted());
    const missing = expected.filter((id) => !found.includes(id));
    const extra = found.filter((id) => !expected.includes(id));
    const { count } = await store.calls.count({ project_id: projectId, query });
    expect({ missing, extra, count }).toEqual({ missing: [], extra: [], count: expected.length });
  });
  await fc.assert(property, { seed, numRuns, interruptAfterTimeLimit: 300_000 });
  // An engine that finds nothing, or everything, must not pass.
  expect(telling).toBeGreaterThan(numRuns / 4);
}, 320_000);

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
