import { expect, it } from "vitest";
import { Parameters } from "../engine/parameters.js";
import { compileRows, planRows } from "./row-query.js";
import type { RowColumns, RowQuery } from "./row-query.js";
import { StatementSql } from "./statement-sql.js";

const columns: RowColumns = {
  id: { type: "text" },
  creator: { type: "text", column: "creator_name", optional: true },
  price: { type: "double" },
  created_at: { type: "time" },
  payload: { type: "json" },
};

function compile(request: RowQuery) {
  const p = new Parameters();
  return { ...compileRows(new StatementSql(p), planRows(request, columns, "notes"), ["id ASC"]), values: p.values };
}

const where = (condition: unknown) => compile({ query: { $expr: condition } });

it("without anything lists all rows in a total order", () => {
  expect(compile({})).toEqual({ where: [], orderBy: "id ASC", page: "", values: {} });
});

it("compares columns with bound values", () => {
  expect(where({ $eq: [{ $getField: "creator" }, { $literal: "x' OR 1" }] })).toMatchObject({
    where: ["creator_name = {p0:String}"],
    values: { p0: "x' OR 1" },
  });
  expect(where({ $gt: [{ $getField: "price" }, { $literal: 0.5 }] })).toMatchObject({
    where: ["(price > {p0:Float64})"],
  });
  expect(where({ $gte: [{ $getField: "created_at" }, { $literal: "1970-01-01T00:00:01Z" }] })).toMatchObject({
    where: ["(created_at >= fromUnixTimestamp64Micro({p0:Int64}, 'UTC'))"],
    values: { p0: 1_000_000n },
  });
  expect(where({ $eq: [{ $getField: "creator" }, { $literal: null }] })).toMatchObject({
    where: ["isNull(nullIf(creator_name, ''))"],
  });
});

it("follows paths into free JSON", () => {
  expect(where({ $eq: [{ $getField: "payload.a" }, { $literal: "v" }] })).toMatchObject({
    where: ["(JSONExtract(payload, {p0:String}, 'String') = {p1:String})"],
    values: { p0: "a", p1: "v" },
  });
});

it("sorts with what is absent last, and pages", () => {
  const sortBy = [
    { field: "creator", direction: "desc" },
    { field: "payload.n", direction: "asc" },
  ];
  expect(compile({ sort_by: sortBy, limit: 5, offset: 2 })).toEqual({
    where: [],
    orderBy:
      "nullIf(creator_name, '') DESC NULLS LAST, isNull((JSONExtract(payload, {p2:String}, 'Nullable(String)') AS e0)) ASC, " +
      "if(isFinite(toFloat64OrNull(e0)), toFloat64OrNull(e0), NULL) ASC NULLS LAST, e0 ASC NULLS LAST, id ASC",
    page: "LIMIT {p0:UInt64} OFFSET {p1:UInt64}",
    values: { p0: 5, p1: 2, p2: "n" },
  });
});

it.each<[request: RowQuery, code: string, loc: unknown[]]>([
  [{ fields: ["id", "nonsense"] }, "unprocessable", ["fields", 1]],
  [{ fields: ["price.x"] }, "unprocessable", ["fields", 0]],
  [{ fields: ["constructor"] }, "unprocessable", ["fields", 0]],
  [{ sort_by: [{ field: "nonsense", direction: "asc" }] }, "unprocessable", ["sort_by", 0, "field"]],
  [
    { query: { $expr: { $eq: [{ $getField: "creator_name" }, { $literal: 1 }] } } },
    "unprocessable",
    ["query", "$expr", "$eq", 0, "$getField"],
  ],
  [{ limit: -1 }, "invalid", ["limit"]],
])("%j is refused", (request, code, loc) => {
  expect(() => planRows(request, columns, "notes")).toThrowError(expect.objectContaining({ code, loc }));
});

it("says which fields there are", () => {
  expect(() => planRows({ fields: ["x"] }, columns, "notes")).toThrowError(
    "notes have no field x; there are id, creator, price, created_at, payload.<path>",
  );
});
