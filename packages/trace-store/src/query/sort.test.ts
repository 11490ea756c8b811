import { parseCallField, parseSort } from "@heddle/trace-model";
import { expect, it } from "vitest";
import { Parameters } from "../engine/parameters.js";
import { CallSql } from "./call-sql.js";
import { compileSort } from "./sort.js";

function compile(...keys: Array<[field: string, direction: "asc" | "desc"]>) {
  const sort = parseSort(
    keys.map(([field, direction]) => ({ field, direction })),
    parseCallField,
  );
  const sql = new CallSql(new Parameters());
  return { ...compileSort(sql, sort, ({ column, path }) => ({ document: column, path })), names: sql.names };
}

it("reads the order of the table as it is", () => {
  expect(compile(["started_at", "asc"])).toMatchObject({ select: [], orderBy: "started_at ASC, id ASC", names: false });
  expect(compile(["started_at", "desc"])).toMatchObject({
    select: [],
    orderBy: "started_at DESC, id DESC",
    names: false,
  });
});

it("sorts free JSON by presence, number and text", () => {
  expect(compile(["inputs.n", "asc"])).toMatchObject({
    select: [
      "isNotNull((JSONExtract(inputs, {p0:String}, 'Nullable(String)') AS e0)) AS s0",
      "if(isFinite(toFloat64OrNull(e0)), toFloat64OrNull(e0), NULL) AS s1",
      "e0 AS s2",
    ],
    orderBy: "s0 DESC, s1 ASC, s2 ASC, id DESC",
    names: false,
  });
});

it("sorts the status by its text and a name after renames", () => {
  expect(compile(["summary.weave.status", "desc"])).toMatchObject({
    select: ["toString(status) AS s0"],
    orderBy: "s0 DESC, id DESC",
  });
  expect(compile(["display_name", "asc"])).toMatchObject({
    select: ["nullIf(if(renamed_id = '', display_name, new_name), '') AS s0"],
    orderBy: "s0 ASC, id DESC",
    names: true,
  });
});
