import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Tokenizer } from "@heddle/chat-format";
import { openTokenizer } from "@heddle/chat-format";
import type { Constraints } from "@heddle/structured-outputs";
import { openConstraints } from "@heddle/structured-outputs";
import { allowedTokens, randomWalk, seededRandom } from "@heddle/structured-outputs/testing";

let tokenizer: Tokenizer;
let constraints: Constraints;
beforeAll(async () => {
  tokenizer = await openTokenizer(fileURLToPath(new URL("../models/starter", import.meta.url)));
  constraints = openConstraints(tokenizer, { vocabularySize: tokenizer.vocabularySize + 24 });
});
afterAll(() => constraints.close());

test("texts of a real tokenizer follow a schema, and are what its ids decode to", async () => {
  const schema = {
    type: "object",
    properties: { answer: { enum: ["yes", "no", "maybe"] }, reason: { type: "string", maxLength: 20 } },
    required: ["answer", "reason"],
  };
  const random = seededRandom(5);
  for (let walk = 0; walk < 4; walk++) {
    const session = await constraints.compile({ type: "json_schema", schema });
    const text = await randomWalk(session, tokenizer, random);
    session.close();
    const parsed: unknown = JSON.parse(text ?? "");
    expect(parsed).toEqual({ answer: expect.stringMatching(/^(yes|no|maybe)$/), reason: expect.any(String) });
  }
});

test("every way to cut a text into the tokenizer's tokens is allowed, and no special token is", async () => {
  const session = await constraints.compile({ type: "choice", choices: ["maybe not"] });
  const { mask } = await session.next();
  const spelt = allowedTokens(mask).map((token) => tokenizer.tokenText(token));
  expect(spelt).toContain("m");
  expect(spelt.every((text) => "maybe not".startsWith(text))).toBe(true);
  for (const token of tokenizer.encode("maybe not")) session.accept(token);
  const { mask: last, onlyEos } = await session.next();
  expect(onlyEos).toBe(true);
  expect(allowedTokens(last)).toEqual([...tokenizer.eosIds].toSorted((one, other) => one - other));
  session.close();
});
