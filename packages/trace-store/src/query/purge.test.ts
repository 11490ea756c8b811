import { expect, it } from "vitest";
import { purgedIds } from "./purge.js";

const is = (id: unknown) => ({ $eq: [{ $getField: "id" }, { $literal: id }] });

it.each<[name: string, condition: unknown, ids: string[]]>([
  ["one id", is("a"), ["a"]],
  ["several, each once", { $or: [is("a"), is("b"), is("a")] }, ["a", "b"]],
  ["a list", { $in: [{ $getField: "id" }, [{ $literal: "a" }, { $literal: "b" }]] }, ["a", "b"]],
  ["an empty list", { $in: [{ $getField: "id" }, []] }, []],
])("a purge may name %s", (_name, condition, ids) => {
  expect(purgedIds({ $expr: condition })).toEqual(ids);
});

it.each<[name: string, query: unknown]>([
  ["nothing", undefined],
  ["no condition", {}],
  ["another field", { $expr: { $eq: [{ $getField: "llm_id" }, { $literal: "gpt" }] } }],
  ["another operator", { $expr: { $gt: [{ $getField: "id" }, { $literal: "a" }] } }],
  ["everything but one id", { $expr: { $not: [is("a")] } }],
  ["an id and something else", { $expr: { $or: [is("a"), { $eq: [{ $literal: 1 }, { $literal: 1 }] }] } }],
  ["all of several conditions", { $expr: { $and: [is("a"), is("b")] } }],
  ["no alternative", { $expr: { $or: [] } }],
  ["a number", { $expr: is(7) }],
  ["nothing as the id", { $expr: is(null) }],
  ["a second operator", { $expr: { ...is("a"), $in: [] } }],
  ["alternatives of alternatives", { $expr: { $or: [{ $or: [is("a")] }] } }],
])("a purge of %s is refused", (_name, query) => {
  expect(() => purgedIds(query)).toThrowError(
    expect.objectContaining({ code: "invalid", loc: ["query"], message: expect.stringContaining("by id") }),
  );
});

it("more ids than a purge takes are refused", () => {
  const ids = Array.from({ length: 10_001 }, (_, index) => ({ $literal: String(index) }));
  expect(() => purgedIds({ $expr: { $in: [{ $getField: "id" }, ids] } })).toThrowError(/at most 10000/);
});
