import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matches } from "./matches.js";
import type { QueryableCall } from "./matches.js";
import { parseCallField } from "../src/query/field.js";
import { parseQuery } from "../src/query/parse.js";

const call: QueryableCall = {
  id: "1",
  project_id: "acme/demo",
  trace_id: "t",
  op_name: "weave:///acme/demo/op/answer:abc",
  parent_id: "",
  started_at: 1_000_000n,
  ended_at: 3_500_000n,
  wb_run_step: 7,
  attributes: '{"a.b":{"c":"dotted"},"flag":true,"off":"false","one":1}',
  inputs:
    '{"text":"Hello Wörld","empty":"","int":5,"float":0.5,"round":2.0,"numeric":"12","exact":9007199254740993,"big":18446744073709551616,"nil":null,"list":[10,{"x":"in list"},[]],"obj":{ "k" : [1, 2] },"dup":"first","dup":"second","bad":"\\ud800"}',
  output: '"done"',
  summary: '{"status_counts":{"error":1}}',
};

const get = (path: string) => ({ $getField: path });
const lit = (value: unknown) => ({ $literal: value });
const eq = (path: string, value: unknown) => ({ $eq: [get(path), lit(value)] });
const gt = (path: string, value: unknown) => ({ $gt: [get(path), lit(value)] });
const not = (condition: unknown) => ({ $not: [condition] });
const convert = (path: string, to: string) => ({ $convert: { input: get(path), to } });
const contains = (path: string, substr: string, caseInsensitive = false) => ({
  $contains: { input: get(path), substr: lit(substr), case_insensitive: caseInsensitive },
});
const holds = (condition: unknown, of = call) => matches(parseQuery({ $expr: condition }, parseCallField), of);

describe("a call is found by", () => {
  test.each([
    ["a column", eq("id", "1")],
    ["an absent column", eq("parent_id", null)],
    ["the whole output", eq("output", "done")],
    ["a number", eq("inputs.int", 5)],
    ["a number without its trailing .0", eq("inputs.round", "2")],
    ["a fraction above a whole number", gt("inputs.float", 0)],
    ["a numeric text", gt("inputs.numeric", 11)],
    ["an integer beyond 2^53", eq("inputs.exact", 9007199254740993n)],
    ["an integer below another beyond 2^53", gt("inputs.exact", 9007199254740992n)],
    ["a fraction below an integer beyond 2^53", { $gt: [lit(9007199254740993n), get("inputs.float")] }],
    ["a list of integers beyond 2^53", { $in: [get("inputs.exact"), [lit(1), lit(9007199254740993n)]] }],
    ["a number beyond 64 bits", gt("inputs.big", 1e19)],
    ["a boolean", eq("attributes.flag", true)],
    ["the text false", eq("attributes.off", false)],
    ["1 as true", eq("attributes.one", true)],
    ["a dot in a key", eq("attributes.a\\.b.c", "dotted")],
    ["a list item", eq("inputs.list.0", 10)],
    ["a value inside a list item", eq("inputs.list.1.x", "in list")],
    ["a minified object", eq("inputs.obj", '{"k":[1,2]}')],
    ["a literal list", eq("inputs.obj.k", [1, 2])],
    ["the last of repeated keys", eq("inputs.dup", "second")],
    ["what replaced a lone surrogate", eq("inputs.bad", "\ufffd")],
    ["a missing path as empty text", eq("inputs.nothing", "")],
    ["a missing path", eq("inputs.nothing", null)],
    ["a JSON null", eq("inputs.nil", null)],
    ["existence", eq("inputs.int", 5)],
    ["its start in seconds", eq("started_at", 1)],
    ["its start as ISO text", { $lte: [get("started_at"), lit("1970-01-01T00:00:01Z")] }],
    ["its latency", { $gte: [get("summary.weave.latency_ms"), lit(2500)] }],
    ["its status", eq("summary.weave.status", "descendant_error")],
    ["its shown name", eq("summary.weave.trace_name", "answer")],
    ["its run step", { $in: [get("wb_run_step"), [lit(3), lit(7)]] }],
    ["a substring", contains("inputs.text", "lo W")],
    ["a substring in any case", contains("inputs.text", "hello wÖ", true)],
    ["a number's digits", contains("inputs.numeric", "2")],
    ["the length of a list", { $eq: [{ $size: get("inputs.list") }, lit(3)] }],
    ["a converted text", { $eq: [convert("inputs.int", "string"), lit("5")] }],
    ["a whole number", { $eq: [convert("inputs.round", "int"), lit(2)] }],
    ["two equal fields", { $eq: [get("id"), get("attributes.one")] }],
    ["one of several conditions", { $or: [gt("inputs.nothing", 1), eq("id", "1")] }],
    ["text order", { $lt: [get("op_name"), lit("weave:///b")] }],
  ])("%s", (_, condition) => {
    expect(holds(condition)).toBe(true);
    expect(holds(not(condition))).toBe(false);
  });

  test("the presence of a path", () => {
    expect(holds({ $eq: [convert("inputs.empty", "exists"), lit(true)] })).toBe(true);
    expect(holds(not(convert("inputs.nil", "exists")))).toBe(true);
    expect(holds(not(convert("inputs.list.9", "exists")))).toBe(true);
    expect(holds(not(convert("inputs.list.x", "exists")))).toBe(true);
    expect(holds(not(convert("parent_id", "exists")))).toBe(true);
  });
});

describe("what is unknown matches neither way:", () => {
  test.each([
    ["a missing number", gt("inputs.nothing", 5)],
    ["a text as number", eq("inputs.text", 5)],
    ["a fraction as whole number", { $eq: [convert("inputs.float", "int"), lit(0)] }],
    ["a text as boolean", eq("inputs.text", true)],
    ["a text as integer beyond 2^53", eq("inputs.text", 9007199254740993n)],
    ["a missing number in a list of integers beyond 2^53", { $in: [get("inputs.nothing"), [lit(9007199254740993n)]] }],
    ["an absent column", eq("parent_id", "x")],
    ["null on one side", gt("inputs.int", null)],
    ["an absent column in a list", { $in: [get("thread_id"), [lit("a")]] }],
    ["an absent column's text", contains("exception", "x")],
    ["the size of an object", { $eq: [{ $size: get("inputs.obj") }, lit(1)] }],
    ["feedback", eq("feedback.[*].payload.emoji", "x")],
    ["queues", eq("annotation_queue_items.queue_id", "x")],
    ["an unknown part of and", { $and: [eq("id", "1"), gt("inputs.nothing", 1)] }],
    ["an unknown part of or", { $or: [eq("id", "2"), gt("inputs.nothing", 1)] }],
    ["latency while running", gt("summary.weave.latency_ms", 0)],
  ])("%s", (_, condition) => {
    const running = { ...call, ended_at: null };
    expect(holds(condition, running)).toBe(false);
    expect(holds(not(condition), running)).toBe(false);
  });
});

test("a missing text contains nothing", () => {
  expect(holds(contains("inputs.nothing", ""))).toBe(false);
  expect(holds(not(contains("inputs.nothing", "a")))).toBe(true);
});

test("a running call with failed descendants is asked for its descendants first", () => {
  const running = { ...call, ended_at: null };
  expect(holds(eq("summary.weave.status", "descendant_error"), running)).toBe(true);
  expect(holds(eq("summary.weave.status", "running"), { ...running, summary: "{}" })).toBe(true);
});

test("for any number exactly one of less, equal and greater holds", () => {
  const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
  fc.assert(
    fc.property(number, number, (stored, asked) => {
      const of = { ...call, inputs: JSON.stringify({ x: stored }) };
      const results = ["$lt", "$eq", "$gt"].map((op) => holds({ [op]: [get("inputs.x"), lit(asked)] }, of));
      expect(results).toEqual([stored < asked, stored === asked, stored > asked]);
    }),
  );
});
