import { limits } from "@heddle/spec/tracing-limits";
import { describe, expect, test } from "vitest";
import { planCalls } from "./call-query.js";
import type { CallSelector } from "./call-query.js";

const { price } = limits.Query;
const field = (path: string) => ({ $getField: path });
const literal = (value: unknown) => ({ $literal: value });
const some = <Item>(length: number, item: (index: number) => Item): Item[] =>
  Array.from({ length }, (_, index) => item(index));
const equals = (path: string, value: unknown) => ({ $eq: [field(path), literal(value)] });
const query = ($expr: unknown) => ({ query: { $expr } });
const converted = (levels: number): unknown =>
  levels === 0
    ? field("inputs.n")
    : { $convert: { input: converted(levels - 1), to: levels % 2 === 0 ? "string" : "double" } };
/** The columns on the way to a field behind so many refs, which are inside each other. */
const nested = (refs: number) => {
  const path = (length: number) => `inputs.${some(length, (index) => `r${index}`).join(".")}`;
  return { ...query(equals(path(refs + 1), "x")), expand_columns: some(refs, (index) => path(index + 1)) };
};

function plan(request: Omit<CallSelector, "project_id">) {
  return planCalls({ project_id: "e/p", ...request });
}

/** A request of each shape that is accepted, and one that is too expensive. */
const shapes: Record<string, [accepted: Omit<CallSelector, "project_id">, tooDear: Omit<CallSelector, "project_id">]> =
  {
    conditions: [
      query({ $or: some(1500, (index) => equals("thread_id", `t${index}`)) }),
      query({ $or: some(1700, (index) => equals("thread_id", `t${index}`)) }),
    ],
    "conditions on free documents": [
      query({ $or: some(800, (index) => equals("inputs.model", `m${index}`)) }),
      query({ $or: some(1000, (index) => equals("inputs.model", `m${index}`)) }),
    ],
    "conditions that convert": [
      query({ $or: some(450, (index) => equals("inputs.n", index)) }),
      query({ $or: some(600, (index) => equals("inputs.n", index)) }),
    ],
    "texts to look for": [
      query({ $or: some(180, () => ({ $contains: { input: field("inputs.a.0.b"), substr: literal("x") } })) }),
      query({ $or: some(1000, () => ({ $contains: { input: field("inputs.a.0.b"), substr: literal("x") } })) }),
    ],
    "steps of paths": [
      query({ $or: some(40, () => equals(`inputs${".a".repeat(199)}`, "x")) }),
      query({ $or: some(51, () => equals(`inputs${".a".repeat(199)}`, "x")) }),
    ],
    "literals of a list": [
      query({ $in: [field("inputs.a"), some(90_000, (index) => literal(`${index}`))] }),
      query({ $in: [field("inputs.a"), some(110_000, (index) => literal(`${index}`))] }),
    ],
    "operands of a list": [
      query({ $in: [field("inputs.a"), some(500, (index) => field(`inputs.k${index}`))] }),
      query({ $in: [field("inputs.a"), some(900, (index) => field(`inputs.k${index}`))] }),
    ],
    "conversions inside each other": [query(equals("id", "x")), query({ $eq: [converted(40), literal(1)] })],
    "refs inside each other": [nested(3), nested(4)],
    "types of feedback": [
      query({ $or: some(25, (index) => equals(`feedback.[t${index}].payload.a`, "x")) }),
      query({ $or: some(35, (index) => equals(`feedback.[t${index}].payload.a`, "x")) }),
    ],
    "columns to expand": [
      { expand_columns: some(200, (index) => `inputs.k${index}`) },
      { expand_columns: some(201, (index) => `inputs.k${index}`) },
    ],
  };

describe("there is a price to", () => {
  test.each(Object.entries(shapes))("%s", (_, [accepted, tooDear]) => {
    expect(() => plan(accepted)).not.toThrow();
    expect(() => plan(tooDear)).toThrowError(expect.objectContaining({ code: "too_large" }));
  });
});

test("the error names the limit, the price and the dearest part", () => {
  const sortBy = some(20, (index) => ({ field: `output.k${index}`, direction: "asc" as const }));
  const expensive = query({ $or: some(1000, (index) => equals("inputs.model", `m${index}`)) });
  expect(() => plan({ ...expensive, sort_by: sortBy })).toThrowError(
    expect.objectContaining({
      code: "too_large",
      loc: ["query"],
      message: `the request costs 1271 (query 1101, sort_by 170), more than the limit of ${price} for its price`,
    }),
  );
});
