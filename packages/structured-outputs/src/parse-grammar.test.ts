import { expect, test } from "vitest";
import { parseGrammar } from "./parse-grammar.js";

test("comments and quantifiers of any length are read in time in proportion to them", () => {
  const comment = "# ".repeat(10_000);
  const [rule, ...others] = parseGrammar(`root ::= "a"{ 2 , } ${comment}\n ${comment}`);
  expect(others).toEqual([]);
  expect(rule).toMatchObject({ name: "root", body: { kind: "repeat", min: 2, max: Number.POSITIVE_INFINITY } });
  const [bounded] = parseGrammar('root ::= "a"{2, 3}');
  expect(bounded).toMatchObject({ body: { min: 2, max: 3 } });
  expect(parseGrammar(`root ::= "a"{2${" ".repeat(50_000)}`)).toHaveLength(1);
});
