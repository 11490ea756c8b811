import { parseCallField, parseQuery, parseSort } from "@heddle/trace-model";
import { expect, it } from "vitest";
import { Parameters } from "../engine/parameters.js";
import { callFields } from "./call-fields.js";
import { CallSql } from "./call-sql.js";
import { compileQuery } from "./expression.js";
import { compileSort } from "./sort.js";

const field = (path: string) => ({ $getField: path });
const literal = (value: unknown) => ({ $literal: value });

function compile(condition: unknown, ...sort: string[]) {
  const p = new Parameters();
  const sql = new CallSql(p);
  const source = () => ({ document: "inputs", path: [] });
  const where = compileQuery(sql, parseQuery({ $expr: condition }, parseCallField), callFields(sql, source, "e/p"));
  const keys = parseSort(
    sort.map((name) => ({ field: name, direction: "asc" })),
    parseCallField,
  );
  const order = compileSort(sql, keys, source);
  return {
    where,
    select: order.select,
    joins: sql.feedback.joins("e/p").map((join) => join(undefined)),
    values: p.values,
  };
}

it("joins the oldest feedback of a type, with just the part that is compared", () => {
  expect(compile({ $gt: [field("feedback.[score].payload.value"), literal(4)] })).toEqual({
    where:
      "(if(isFinite((toFloat64OrNull(JSONExtract(tupleElement(f0_first, 1), 'String')) AS e0)), e0, NULL) > {p1:Float64})",
    select: [],
    joins: [
      "LEFT JOIN (SELECT call_id AS f0_call, argMin(parts, (created_at, id)) AS f0_first FROM (SELECT call_id, created_at, id, tuple(JSONExtractRaw(payload, {p0:String})) AS parts FROM feedback FINAL WHERE project_id = {p2:String} AND call_id != '' AND type = {p3:String}) GROUP BY call_id) AS f0 ON f0_call = id",
    ],
    values: { p0: "value", p1: 4, p2: "e/p", p3: "score" },
  });
});

it("asks whether any piece of a type matches that a call has several of", () => {
  const { where, joins, values } = compile({
    $not: [{ $eq: [field("feedback.[wandb.note.1].payload.note"), literal("x' OR 1")] }],
  });
  expect(where).toBe(
    "(NOT arrayReduce('max', arrayMap(f0_one -> CAST((JSONExtract(tupleElement(f0_one, 1), 'String') = {p1:String}), 'Nullable(UInt8)'), arrayResize(f0_all, greatest(length(f0_all), 1)))))",
  );
  expect(joins[0]).toContain("SELECT call_id AS f0_call, groupArray(parts) AS f0_all FROM");
  expect(values).toEqual({ p0: "note", p1: "x' OR 1", p2: "e/p", p3: "wandb.note.1" });
});

it("takes unknown for false where nothing negates it", () => {
  const path = "feedback.[*].trigger_ref";
  expect(compile({ $eq: [field(path), literal("r")] }).where).toBe(
    "arrayExists(f0_one -> ifNull(CAST((nullIf(tupleElement(f0_one, 1), '') = {p0:String}), 'Nullable(UInt8)'), 0), arrayResize(f0_all, greatest(length(f0_all), 1)))",
  );
});

it("finds a ref of feedback however its name is spelled", () => {
  const { where, values } = compile({
    $eq: [field("feedback.[wandb.runnable.x].runnable_ref"), literal("weave:///e/p/op/计:abc")],
  });
  expect(where).toContain(" IN ");
  expect(Object.values(values).flat()).toEqual(
    expect.arrayContaining(["weave:///e/p/op/计:abc", "weave:///e/p/op/%E8%AE%A1:abc"]),
  );
});

it("joins a type once, whatever asks for it, and any type without a condition on it", () => {
  const { joins, select } = compile(
    {
      $and: [
        { $eq: [field("feedback.[score].payload.a"), literal(1)] },
        { $eq: [field("feedback.[score].payload.a"), literal("b")] },
        { $eq: [field("feedback.[*].trigger_ref"), literal("r")] },
      ],
    },
    "feedback.[score].trigger_ref",
    "feedback.[*].payload.a",
  );
  expect(joins).toHaveLength(2);
  expect(joins[0]).toContain("tuple(JSONExtractRaw(payload, {p0:String}), trigger_ref) AS parts");
  expect(joins[1]).toContain("argMin(parts, (created_at, id)) AS f1_first, groupArray(parts) AS f1_all");
  expect(joins[1]).not.toContain("type =");
  expect(select[0]).toBe("nullIf(tupleElement(f0_first, 2), '') AS s0");
  expect(select[1]).toContain("JSONExtract(tupleElement(f1_first, 2), 'Nullable(String)')");
});

it("binds each list once where both sides of a comparison are pieces", () => {
  const path = "feedback.[wandb.note.1].payload";
  const { where } = compile({ $eq: [field(`${path}.a`), field(`${path}.b`)] });
  expect(where.split(" -> ").length).toBe(2);
  const two = compile({ $eq: [field(`${path}.a`), field("feedback.[*].payload.b")] });
  expect(two.where.split(" -> ").length).toBe(3);
});
