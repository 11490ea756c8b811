import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, expect, test } from "vitest";
import { testVocabulary } from "../test/constraint-vocabulary.js";
import { randomWalk, seededRandom } from "../test/random-walk.js";
import { openConstraints } from "./constraints.js";
import { formats } from "./schema/formats.js";

const vocabulary = testVocabulary();
const constraints = openConstraints(vocabulary);
afterAll(() => constraints.close());

/** What no grammar can hold, or none of a moderate size, with the keyword that is refused. */
const refused: Readonly<Record<string, string>> = {
  "zod stepOpen": "schema.multipleOf",
  "zod hostname": "schema.pattern",
  "zod never": "schema.properties.a.not",
  "pydantic set_of_text": "schema.uniqueItems",
  "pydantic dict_of_two": "schema.minProperties",
};

const corpus = ["zod", "pydantic"].flatMap((library) => {
  const schemas = JSON.parse(
    readFileSync(new URL(`../test/corpus/${library}.json`, import.meta.url), "utf8"),
  ) as object;
  return Object.entries(schemas).map(([name, schema]): [string, object] => [`${library} ${name}`, schema as object]);
});

const expected = corpus.filter(([name]) => !(name in refused));

test.each(expected)("texts of an ordinary type satisfy the schema as it is printed: %s", async (_, schema) => {
  const ajv = new Ajv2020({ strict: false, logger: false });
  for (const [name, source] of formats) ajv.addFormat(name, new RegExp(`^(?:${source})$`));
  const validate = ajv.compile(schema);
  const random = seededRandom(7);
  let ended = 0;
  for (let walk = 0; walk < 12; walk++) {
    const session = await constraints.compile({ type: "json_schema", schema });
    const text = await randomWalk(session, vocabulary, random, 400);
    session.close();
    if (text === undefined) continue;
    ended++;
    expect([text, validate(JSON.parse(text))]).toEqual([text, true]);
  }
  expect(ended).toBeGreaterThan(0);
});

test.each(Object.entries(refused))("%s is refused by its keyword, %s", async (name, loc) => {
  const schema = corpus.find(([each]) => each === name)?.[1];
  await expect(constraints.compile({ type: "json_schema", schema })).rejects.toMatchObject({
    code: expect.stringMatching(/^(invalid|too_large)$/) as unknown,
    loc: loc.split("."),
  });
});
