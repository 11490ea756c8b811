import { parseCallField, parseQuery } from "@heddle/trace-model";
import { expect, it } from "vitest";
import { Parameters } from "../engine/parameters.js";
import { callFields } from "./call-fields.js";
import { CallSql } from "./call-sql.js";
import { compileQuery } from "./expression.js";

function compile(condition: unknown): { sql: string; values: Record<string, unknown> } {
  const p = new Parameters();
  const expression = parseQuery({ $expr: condition }, parseCallField);
  const statement = new CallSql(p);
  const fields = callFields(statement, ({ column, path }) => ({ document: column, path }), "e/p");
  const sql = compileQuery(statement, expression, fields);
  return { sql, values: p.values };
}

const field = (path: string) => ({ $getField: path });
const literal = (value: unknown) => ({ $literal: value });

it.each<[name: string, condition: unknown, sql: string, values: Record<string, unknown>]>([
  [
    "a text column as it is stored, so that its index serves",
    { $eq: [field("parent_id"), literal("p")] },
    "parent_id = {p0:String}",
    { p0: "p" },
  ],
  [
    "an absent text as unknown where that matters",
    { $not: [{ $eq: [field("parent_id"), literal("p")] }] },
    "(NOT (nullIf(parent_id, '') = {p0:String}))",
    { p0: "p" },
  ],
  [
    "a path into JSON with bound keys",
    { $eq: [field("inputs.user.na\\.me"), literal("x' OR 1=1")] },
    "(JSONExtract(inputs, {p0:String}, {p1:String}, 'String') = {p2:String})",
    { p0: "user", p1: "na.me", p2: "x' OR 1=1" },
  ],
  [
    "a numeric segment by the type it meets",
    { $eq: [field("inputs.list.0.x"), literal("v")] },
    "(JSONExtract(if(JSONType(inputs, {p0:String}) = 'Array', JSONExtractRaw(inputs, {p0:String}, {p1:UInt32}), JSONExtractRaw(inputs, {p0:String}, {p2:String})), {p3:String}, 'String') = {p4:String})",
    { p0: "list", p1: 1, p2: "0", p3: "x", p4: "v" },
  ],
  [
    "several numeric segments, the document named once",
    { $eq: [field("inputs.list.0.x.1.y"), literal("v")] },
    "(JSONExtract(arrayFold((json, key, item) -> if(JSONType(json) = 'Array', JSONExtractRaw(json, item), JSONExtractRaw(json, key)), {p1:Array(String)}, {p2:Array(UInt32)}, JSONExtractRaw(inputs, {p0:String})), {p3:String}, 'String') = {p4:String})",
    { p0: "list", p1: ["0", "x", "1"], p2: [1, 0, 2], p3: "y", p4: "v" },
  ],
  [
    "a number against JSON text, without nan and inf",
    { $gt: [field("inputs.n"), literal(5)] },
    "(if(isFinite((toFloat64OrNull(JSONExtract(inputs, {p0:String}, 'String')) AS e0)), e0, NULL) > {p1:Float64})",
    { p0: "n", p1: 5 },
  ],
  [
    "a truth value",
    { $eq: [field("inputs.b"), literal(true)] },
    "(multiIf((JSONExtract(inputs, {p0:String}, 'String') AS e0) IN ('true', '1'), true, e0 IN ('false', '0'), false, NULL) = true)",
    { p0: "b" },
  ],
  [
    "a time",
    { $gte: [field("started_at"), literal("2026-04-10T09:00:00Z")] },
    "(started_at >= fromUnixTimestamp64Micro({p0:Int64}, 'UTC'))",
    { p0: 1_775_811_600_000_000n },
  ],
  [
    "absence of a JSON value",
    { $eq: [field("output.a"), literal(null)] },
    "isNull(JSONExtract(output, {p0:String}, 'Nullable(String)'))",
    { p0: "a" },
  ],
  [
    "presence of a column",
    { $eq: [{ $convert: { input: field("thread_id"), to: "exists" } }, literal(true)] },
    "(isNotNull(nullIf(thread_id, '')) = true)",
    {},
  ],
  [
    "a list against a column",
    { $in: [field("id"), [literal("a"), literal("b")]] },
    "id IN ({p0:Array(String)})",
    { p0: ["a", "b"] },
  ],
  [
    "a list against JSON, unknown kept under a negation",
    { $not: [{ $in: [field("inputs.n"), [literal(1), literal(2)]] }] },
    "(NOT if(isNull((if(isFinite((toFloat64OrNull(JSONExtract(inputs, {p0:String}, 'String')) AS e0)), e0, NULL) AS e1)), NULL, toFloat64(e1) IN ({p1:Array(Float64)})))",
    { p0: "n", p1: [1, 2] },
  ],
  [
    "a part of a text in any case",
    { $contains: { input: field("output"), substr: literal("Ab"), case_insensitive: true } },
    "(position(lowerUTF8(JSONExtract(output, 'String')), lowerUTF8({p0:String})) > 0)",
    { p0: "Ab" },
  ],
  [
    "the computed fields",
    {
      $and: [
        { $eq: [field("summary.weave.status"), literal("error")] },
        { $gt: [field("summary.weave.latency_ms"), literal(2000)] },
      ],
    },
    "((toString(status) = {p0:String}) AND (intDiv(latency_us, 1000) > {p1:Float64}))",
    { p0: "error", p1: 2000 },
  ],
  [
    "the length of a list",
    { $eq: [{ $size: field("inputs.l") }, literal(2)] },
    "(if(JSONType((JSONExtractRaw(inputs, {p0:String}) AS e0)) = 'Array', toNullable(JSONLength(e0)), NULL) = {p1:Float64})",
    { p0: "l", p1: 2 },
  ],
  [
    "queues as unknown until there are any",
    { $eq: [field("annotation_queue_items.queue_id"), literal("y")] },
    "(CAST(NULL, 'Nullable(String)') = {p0:String})",
    { p0: "y" },
  ],
])("compares %s", (_name, condition, sql, values) => {
  expect(compile(condition)).toEqual({ sql, values });
});

it("grows with the query, not with its depth", () => {
  let condition: unknown = { $in: [field("inputs.0.1.2.3.4.5.6.7.8.9"), [literal(true)]] };
  for (let level = 0; level < 40; level++) condition = { $in: [condition, [literal(true)]] };
  expect(compile(condition).sql.length).toBeLessThan(10_000);
});

it("keeps the text of a query out of the statement", () => {
  const evil = "'); DROP TABLE calls; --{p0:String}\\";
  const { sql } = compile({
    $or: [
      { $eq: [field(`inputs.${evil.replaceAll(".", "")}`), literal(evil)] },
      { $contains: { input: field("op_name"), substr: literal(evil) } },
      { $in: [field("attributes.x"), [literal(evil)]] },
    ],
  });
  expect(sql).not.toContain("DROP");
  expect(sql.replaceAll(/\{p\d+:[A-Za-z0-9()]+\}/g, "")).not.toMatch(/[{};\\]/);
});
