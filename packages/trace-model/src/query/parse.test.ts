import { HeddleError } from "@heddle/errors";
import { describe, expect, test } from "vitest";
import { parseCallField, splitPath } from "./field.js";
import { parseQuery } from "./parse.js";
import { parseSort } from "./sort.js";

const parse = (condition: unknown) => parseQuery({ $expr: condition }, parseCallField);
const field = (path: string) => ({ op: "field", field: parseCallField(path) });
const get = (path: string) => ({ $getField: path });
const lit = (value: unknown) => ({ $literal: value });

function failure(action: () => unknown): { code: string; loc: string | undefined } {
  try {
    action();
  } catch (error) {
    if (error instanceof HeddleError) return { code: error.code, loc: error.loc?.join(".") };
    throw error;
  }
  throw new Error("expected a HeddleError");
}

test("a query has a bounded number of operators, counted as often as they are evaluated; list literals are free", () => {
  const wide = (length: number) => ({ $and: Array.from({ length }, () => ({ $eq: [get("id"), lit("x")] })) });
  expect(() => parse(wide(3000))).not.toThrow();
  expect(failure(() => parse(wide(3400)))).toMatchObject({ code: "invalid" });
  expect(() =>
    parse({ $in: [get("id"), Array.from({ length: 50_000 }, (_, index) => lit(`${index}`))] }),
  ).not.toThrow();
  let lists: unknown = get("id");
  for (let level = 0; level < 20; level++) lists = { $in: [lists, [get("op_name"), get("trace_id")]] };
  expect(failure(() => parse(lists))).toMatchObject({ code: "invalid" });
});

test("fields and literals have a bounded length together", () => {
  const long = "x".repeat(400_000);
  const contains = (substr: unknown) => ({ $contains: { input: get("inputs.a"), substr: lit(substr) } });
  expect(() => parse({ $and: [contains(long), contains(long)] })).not.toThrow();
  for (const condition of [
    { $and: [contains(long), contains(long), contains(long)] },
    { $in: [get("inputs.a"), [lit(long), lit(long), lit(long)]] },
    { $in: [get("inputs.a"), Array.from({ length: 60_000 }, () => lit(1.234567890123456))] },
    contains([long, long, long]),
    { $and: Array.from({ length: 200 }, () => ({ $eq: [get(`inputs.${"k".repeat(9000)}`), lit(1)] })) },
  ]) {
    expect(failure(() => parse(condition))).toMatchObject({ code: "invalid" });
  }
});

describe("fields of calls", () => {
  test.each([
    ["id", { kind: "column", name: "id", nullable: false, type: "text" }],
    ["parent_id", { kind: "column", name: "parent_id", nullable: true, type: "text" }],
    ["started_at", { kind: "column", name: "started_at", nullable: false, type: "time" }],
    ["wb_run_step", { kind: "column", name: "wb_run_step", nullable: true, type: "int" }],
    ["output", { kind: "json", column: "output", path: [], type: "text" }],
    ["inputs.a.0.b", { kind: "json", column: "inputs", path: ["a", "0", "b"], type: "text" }],
    ["attributes.a\\.b.c", { kind: "json", column: "attributes", path: ["a.b", "c"], type: "text" }],
    ["summary.weave.status", { kind: "weave", name: "status", type: "text" }],
    ["summary.weave.latency_ms", { kind: "weave", name: "latency_ms", type: "int" }],
    ["summary.weave.costs.m", { kind: "json", column: "summary", path: ["weave", "costs", "m"], type: "text" }],
    [
      "feedback.[wandb.reaction.1].payload.emoji",
      { kind: "feedback", feedback_type: "wandb.reaction.1", part: "payload", path: ["emoji"], type: "text" },
    ],
    [
      "feedback.[*].runnable_ref",
      { kind: "feedback", feedback_type: "*", part: "runnable_ref", path: [], refs: true, type: "text" },
    ],
    ["annotation_queue_items.queue_id", { kind: "queue", type: "text" }],
  ])("%s", (text, parsed) => {
    expect(parseCallField(text)).toEqual({ ...parsed, text });
  });

  test.each([
    "",
    "storage_size_bytes",
    "total_storage_size_bytes",
    "id.x",
    "started",
    "__proto__",
    "constructor",
    "feedback.reaction.payload",
    "feedback.[x].creator",
    "feedback.[x].runnable_ref.y",
    "wb_username",
  ])("%s may not be queried", (text) => {
    expect(failure(() => parseCallField(text))).toEqual({ code: "unprocessable", loc: "" });
    const loc = "query.$expr.$eq.0.$getField";
    expect(failure(() => parse({ $eq: [get(text), lit(1)] }))).toEqual({ code: "unprocessable", loc });
  });

  test("a path that is longer than free JSON is deep, or than anybody's key, may not be queried", () => {
    expect(() => parseCallField(`inputs.${"0.".repeat(199)}a`)).not.toThrow();
    const feedback = "feedback.[" + "].payload.a".repeat(30_000);
    for (const text of [`inputs.${"a.".repeat(200)}a`, `inputs.${"a.".repeat(200_000)}a`, `${feedback}\n`]) {
      expect(() => parseCallField(text)).toThrow(
        expect.objectContaining({ code: "unprocessable", message: expect.stringMatching(/^.{0,200}$/) }),
      );
    }
  });

  test("a dot inside a key is escaped", () => {
    expect(splitPath("a\\.b.c\\.\\.d")).toEqual(["a.b", "c..d"]);
  });
});

describe("implied casts", () => {
  test.each([
    [
      "a number reads the field as double",
      { $gt: [get("inputs.x"), lit(5)] },
      { op: "gt", left: { op: "convert", input: field("inputs.x"), to: "double" }, right: { op: "literal", value: 5 } },
    ],
    [
      "also from the left side",
      { $lt: [lit(0.5), get("id")] },
      { op: "lt", left: { op: "literal", value: 0.5 }, right: { op: "convert", input: field("id"), to: "double" } },
    ],
    [
      "a boolean reads it as bool",
      { $eq: [get("inputs.x"), lit(true)] },
      {
        op: "eq",
        left: { op: "convert", input: field("inputs.x"), to: "bool" },
        right: { op: "literal", value: true },
      },
    ],
    [
      "a string reads it as it is",
      { $eq: [get("inputs.x"), lit("a")] },
      { op: "eq", left: field("inputs.x"), right: { op: "literal", value: "a" } },
    ],
    [
      "whole columns are numbers already",
      { $gte: [get("summary.weave.latency_ms"), lit(2000)] },
      { op: "gte", left: field("summary.weave.latency_ms"), right: { op: "literal", value: 2000 } },
    ],
    [
      "a string makes a number text",
      { $eq: [get("wb_run_step"), lit("3")] },
      {
        op: "eq",
        left: { op: "convert", input: field("wb_run_step"), to: "string" },
        right: { op: "literal", value: "3" },
      },
    ],
    [
      "an ISO time",
      { $gte: [get("started_at"), lit("1970-01-01T00:00:01Z")] },
      { op: "gte", left: field("started_at"), right: { op: "time", us: 1_000_000n } },
    ],
    [
      "unix seconds",
      { $lte: [get("started_at"), lit(1.5)] },
      { op: "lte", left: field("started_at"), right: { op: "time", us: 1_500_000n } },
    ],
    ["null asks for absence", { $eq: [lit(null), get("parent_id")] }, { op: "is_null", operand: field("parent_id") }],
    ["null is never greater", { $gt: [get("parent_id"), lit(null)] }, { op: "literal", value: null }],
    [
      "lists compare as text",
      { $eq: [get("inputs.x"), lit([1, "a"])] },
      { op: "eq", left: field("inputs.x"), right: { op: "literal", value: '[1,"a"]' } },
    ],
    [
      "two fields compare as text",
      { $eq: [get("inputs.x"), get("started_at")] },
      { op: "eq", left: field("inputs.x"), right: { op: "convert", input: field("started_at"), to: "string" } },
    ],
    [
      "a field follows a converted one",
      { $eq: [get("inputs.x"), { $convert: { input: get("output"), to: "int" } }] },
      {
        op: "eq",
        left: { op: "convert", input: field("inputs.x"), to: "double" },
        right: { op: "convert", input: field("output"), to: "int" },
      },
    ],
    [
      "in numbers",
      { $in: [get("inputs.x"), [lit(1), lit(2.5), lit(null)]] },
      {
        op: "in",
        operand: { op: "convert", input: field("inputs.x"), to: "double" },
        type: "double",
        values: [1, 2.5],
      },
    ],
    ["in strings", { $in: [get("id"), [lit("a")]] }, { op: "in", operand: field("id"), type: "text", values: ["a"] }],
    [
      "in times",
      { $in: [get("ended_at"), [lit(1), lit("1970-01-01"), lit(1_775_811_600_250)]] },
      { op: "in", operand: field("ended_at"), type: "time", values: [1_000_000n, 0n, 1_775_811_600_250_000n] },
    ],
    ["in nothing", { $in: [get("id"), []] }, { op: "literal", value: false }],
    [
      "in other fields",
      { $in: [get("id"), [get("trace_id"), lit("a")]] },
      {
        op: "or",
        operands: [
          { op: "eq", left: field("id"), right: field("trace_id") },
          { op: "eq", left: field("id"), right: { op: "literal", value: "a" } },
        ],
      },
    ],
    [
      "a condition made of a field",
      { $not: [get("output.ok")] },
      { op: "not", operand: { op: "convert", input: field("output.ok"), to: "bool" } },
    ],
    [
      "a single condition",
      { $and: [{ $eq: [get("id"), lit("a")] }] },
      { op: "eq", left: field("id"), right: { op: "literal", value: "a" } },
    ],
    [
      "contains",
      { $contains: { input: get("wb_run_step"), substr: lit("1"), case_insensitive: null } },
      {
        op: "contains",
        input: { op: "convert", input: field("wb_run_step"), to: "string" },
        substr: { op: "literal", value: "1" },
        case_insensitive: false,
      },
    ],
    [
      "size",
      { $gt: [{ $size: get("inputs.list") }, lit(2)] },
      { op: "gt", left: { op: "size", input: field("inputs.list") }, right: { op: "literal", value: 2 } },
    ],
  ])("%s", (_, condition, expression) => {
    expect(parse(condition)).toEqual(expression);
  });
});

describe("times that are none", () => {
  test.each([
    ["a word", { $lte: [get("started_at"), lit("soon")] }, "query.$expr.$lte"],
    ["on the left", { $not: [{ $gt: [lit("soon"), get("ended_at")] }] }, "query.$expr.$not.0.$gt"],
    ["a boolean", { $eq: [get("started_at"), lit(true)] }, "query.$expr.$eq"],
    ["a list", { $eq: [get("started_at"), lit([1])] }, "query.$expr.$eq"],
    ["nanoseconds", { $gte: [get("started_at"), lit(1_775_811_600_000_000_000)] }, "query.$expr.$gte"],
    ["exact nanoseconds", { $gte: [get("started_at"), lit(1775811600000000001n)] }, "query.$expr.$gte"],
    ["in a list", { $in: [get("ended_at"), [lit(1), lit("x")]] }, "query.$expr.$in"],
    ["in a list of fields", { $in: [get("ended_at"), [get("started_at"), lit("x")]] }, "query.$expr.$in"],
  ])("%s: a filter that could match nothing is refused", (_, condition, loc) => {
    expect(failure(() => parse(condition))).toEqual({ code: "unprocessable", loc });
  });

  test("dates beyond what can be stored still limit on one side", () => {
    expect(() => parse({ $lt: [get("started_at"), lit("9999-12-31")] })).not.toThrow();
  });
});

describe("queries that are none", () => {
  const deep = Array.from({ length: 200 }).reduce<unknown>((inner) => ({ $not: [inner] }), lit(true));
  test.each([
    ["not an object", [], "query"],
    ["no $expr", {}, "query"],
    ["more than $expr", { $expr: { $not: [lit(true)] }, limit: 1 }, "query"],
    ["a bare operand", { $expr: lit(true) }, "query.$expr"],
    ["an empty list", { $expr: { $and: [] } }, "query.$expr.$and"],
    ["two operators", { $expr: { $and: [lit(1)], $or: [lit(1)] } }, "query.$expr"],
    ["an unknown operator", { $expr: { $near: [] } }, "query.$expr.$near"],
    ["one side", { $expr: { $eq: [lit(1)] } }, "query.$expr.$eq"],
    ["$not of two", { $expr: { $not: [lit(1), lit(2)] } }, "query.$expr.$not"],
    ["a deeper path", { $expr: { $or: [{ $not: [{ $eq: 3 }] }] } }, "query.$expr.$or.0.$not.0.$eq"],
    ["$in without a list", { $expr: { $in: [get("id"), lit("a")] } }, "query.$expr.$in.1"],
    ["mixed values", { $expr: { $in: [get("inputs.x"), [lit(1), lit("a")]] } }, "query.$expr.$in.1"],
    [
      "an unknown cast",
      { $expr: { $eq: [{ $convert: { input: get("id"), to: "date" } }, lit(1)] } },
      "query.$expr.$eq.0.$convert",
    ],
    [
      "an unknown key",
      { $expr: { $contains: { input: get("id"), substr: lit("a"), limit: 1 } } },
      "query.$expr.$contains.limit",
    ],
    ["a path that is not a string", { $expr: { $eq: [{ $getField: 1 }, lit(1)] } }, "query.$expr.$eq.0.$getField"],
  ])("%s", (_, query, loc) => {
    expect(failure(() => parseQuery(query, parseCallField))).toEqual({ code: "invalid", loc });
  });

  test("nesting beyond any sense", () => {
    expect(failure(() => parse(deep)).code).toBe("invalid");
  });
});

describe("sorting", () => {
  test("by fields with a direction", () => {
    expect(
      parseSort(
        [
          { field: "summary.weave.latency_ms", direction: "desc" },
          { field: "inputs.x", direction: "asc" },
        ],
        parseCallField,
      ),
    ).toEqual([
      { field: parseCallField("summary.weave.latency_ms"), direction: "desc" },
      { field: parseCallField("inputs.x"), direction: "asc" },
    ]);
    expect(parseSort([], parseCallField)).toEqual([]);
  });

  test.each([
    [{}, "invalid", "sort_by"],
    [[1], "invalid", "sort_by.0"],
    [[{ field: "id" }], "invalid", "sort_by.0.direction"],
    [[{ field: "id", direction: "up" }], "invalid", "sort_by.0.direction"],
    [[{ direction: "asc" }], "invalid", "sort_by.0.field"],
    [[{ field: "id", direction: "asc", order: "asc" }], "invalid", "sort_by.0.order"],
    [[{ field: "storage_size_bytes", direction: "asc" }], "unprocessable", "sort_by.0.field"],
    [Array.from({ length: 21 }, () => ({ field: "id", direction: "asc" })), "invalid", "sort_by"],
  ])("%j is refused", (sortBy, code, loc) => {
    expect(failure(() => parseSort(sortBy, parseCallField))).toEqual({ code, loc });
  });
});
