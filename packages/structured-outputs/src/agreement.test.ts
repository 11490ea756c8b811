import { afterAll, expect, test } from "vitest";
import { HeddleError } from "@heddle/errors";
import { regexCases, schemaCases } from "../test/comparison-cases.js";
import { testVocabulary } from "../test/constraint-vocabulary.js";
import type { JudgedText } from "../test/judged-texts.js";
import { regexTexts, schemaTexts } from "../test/judged-texts.js";
import { allowedTokens } from "../test/random-walk.js";
import { openConstraints } from "./constraints.js";
import type { StructuredOutput } from "./structured-output.js";

const vocabulary = testVocabulary();
const constraints = openConstraints(vocabulary);
afterAll(() => constraints.close());

/** Valid texts that are forbidden on purpose: nothing is written that nobody described. */
const narrower = new Map([
  ["pattern, unanchored", ['"a12b"']],
  ["additional members by default", ['{"b":"x"}', '{"a":1,"b":2}']],
  ["prefixItems", ['["a"]']],
]);

/** Whether the constraint allows the text as a whole. */
async function allows(output: StructuredOutput, text: string): Promise<boolean> {
  const session = await constraints.compile(output);
  try {
    for (const byte of Buffer.from(text)) session.accept(byte);
    return allowedTokens((await session.next()).mask).includes(vocabulary.end);
  } catch (error) {
    // The error of a token that is not allowed.
    if (error instanceof HeddleError && error.code === "failed") return false;
    throw error;
  } finally {
    session.close();
  }
}

/** The texts that the constraint treats otherwise than they are judged. A constraint that is refused treats none. */
async function misjudged(output: StructuredOutput, texts: JudgedText[]): Promise<string[]> {
  try {
    const allowed = await Promise.all(texts.map(({ text }) => allows(output, text)));
    return texts.filter(({ valid }, at) => allowed[at] !== valid).map(({ text }) => text);
  } catch (error) {
    expect(error).toMatchObject({ code: "invalid" });
    return [];
  }
}

test.each(schemaCases)("the schema is followed or refused: %s", async (name, schema, values) => {
  const wrong = await misjudged({ type: "json_schema", schema }, schemaTexts(schema, values));
  expect(wrong).toEqual(narrower.get(name) ?? []);
});

test.each(regexCases)("the pattern is followed or refused: %s", async (regex, texts) => {
  expect(await misjudged({ type: "regex", regex }, regexTexts(regex, texts))).toEqual([]);
});
