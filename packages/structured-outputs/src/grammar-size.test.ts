import { expect, test } from "vitest";
import { constraintSource } from "./constraint-source.js";
import type { StructuredOutput } from "./structured-output.js";

// Sizes are counted while the source is made, before anything is compiled.

const regex = (source: string): StructuredOutput => ({ type: "regex", regex: source });
const grammar = (source: string): StructuredOutput => ({ type: "grammar", grammar: source });
const schema = (source: unknown): StructuredOutput => ({ type: "json_schema", schema: source });
const object = (members: number, value: unknown) => ({
  type: "object",
  properties: Object.fromEntries(Array.from({ length: members }, (_, index) => [`p${index}`, value])),
});
const loops = [
  "[ab]*a[ab]{60}",
  ".*a.{12}",
  "\\w*x\\w{99}",
  "[^a]*b[^c]{40}",
  "(?:[a-z]*q)[a-z]{30}",
  "\\d*1\\d{20}|x",
];

test.each<[string, string, StructuredOutput]>([
  ...loops.map((source): [string, string, StructuredOutput] => [source, "regex", regex(source)]),
  ["nested counts", "regex", regex("((a{1,99}){1,99}){1,4}")],
  ["nested counts of a class", "regex", regex("(.{99}){0,120}")],
  ["nested open counts", "regex", regex("([^a]{120,}){99}")],
  ["a loop before many characters", "grammar", grammar('root ::= [ab]* "a" [ab]{60}')],
  ["nested counts", "grammar", grammar('root ::= (("a"{1,99}){1,99}){1,99}')],
  ["nested counts of texts", "grammar", grammar(`root ::= ("${"x".repeat(200)}"{9}){9}`)],
  [
    "long choices",
    "choices",
    { type: "choice", choices: Array.from({ length: 1000 }, (_, at) => `${at}${"x".repeat(200)}`) },
  ],
  ["a long enum", "schema", schema({ enum: Array.from({ length: 9000 }, (_, at) => `${at} ${"value".repeat(3)}`) })],
  ["many optional members", "schema", schema(object(1500, { type: "string" }))],
  ["a pattern", "schema", schema(object(1, { type: "string", pattern: "[ab]*a[ab]{60}" }))],
])("%s: what takes long to compile is refused by its field %s", (_, field, output) => {
  expect(() => constraintSource(output)).toThrow(
    expect.objectContaining({ code: "too_large", loc: expect.arrayContaining([field]) as unknown }),
  );
});

test("the parts of a structural tag are counted, with their location", () => {
  const content = { type: "regex", pattern: "[ab]*a[ab]{60}" };
  const tag = { format: { type: "tag", begin: "<a>", content, end: "</a>" } };
  expect(() => constraintSource({ type: "structural_tag", tag })).toThrow(
    expect.objectContaining({ code: "too_large", loc: ["tag", "format", "content", "pattern"] }),
  );
});

test.each<[string, StructuredOutput]>([
  ["a host name", regex("([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.){1,9}[a-z]{2,63}")],
  ["a number before text", regex("\\s*[0-9]{1,9}\\s*[a-z]{20}")],
  ["a loop that cannot match what follows", regex("[0-9]*[a-z]{99}")],
  ["a date in text", regex(".*[0-9]{4}-[0-9]{2}-[0-9]{2}.*")],
  ["a long text", regex("[^<]{1,9999}")],
  [
    "an array of objects",
    schema({ type: "array", maxItems: 1000, items: object(30, { type: "string", maxLength: 200 }) }),
  ],
  ["an enum", schema({ enum: Array.from({ length: 2000 }, (_, at) => `value ${at}`) })],
  ["a member for each column", schema(object(200, { type: ["number", "null"] }))],
  ["a recursive grammar", grammar('root ::= "(" root* ")" | [a-z]+ # comment "x\n')],
])("what users write is not refused: %s", (_, output) => {
  expect(constraintSource(output)).toBeDefined();
});

test.each([
  ["open brackets", `root ::= ${'"[('.repeat(80_000)}`],
  ["comments in comments", `root ::= "a" ${"#".repeat(200_000)}`],
  ["classes of many bytes", `root ::= ${"[^\u4e00]".repeat(40_000)}`],
  ["spaces in a count", `root ::= "a"{1${" ".repeat(100_000)}x`],
  ["loops", `root ::= ${"[ab]* ".repeat(40_000)}`],
])("the time to read a grammar with %s is proportional to its length", (_, source) => {
  const began = performance.now();
  try {
    constraintSource(grammar(source));
  } catch (error) {
    expect(error).toMatchObject({ name: "HeddleError" });
  }
  expect(performance.now() - began).toBeLessThan(5_000);
});

test("spaces in a count hide nothing", () => {
  expect(() => constraintSource(grammar('root ::= [ab]* "a" [ab]{ 60 }'))).toThrow("more than 2000 states");
  expect(() => constraintSource(grammar('root ::= ) [ab]* "a" [ab]{60}'))).toThrow("more than 2000 states");
});
