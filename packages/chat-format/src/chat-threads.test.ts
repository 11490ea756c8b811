import { array, asyncProperty, assert, string } from "fast-check";
import { expect, test } from "vitest";
import {
  byteLevelTokenizer,
  chatMerges,
  chatTokens,
  sentencePieceTokenizer,
  temporaryModel,
} from "../test/text-models.js";
import { encodeTexts, openVocabulary } from "./chat-threads.js";
import { openTokenizer } from "./tokenizer.js";

const definitions: [string, Record<string, unknown>][] = [
  ["byte-level", byteLevelTokenizer(chatMerges, chatTokens)],
  ["SentencePiece", sentencePieceTokenizer()],
];

test.each(definitions)("a thread tokenizes as the process does, and gives the same vocabulary: %s", async (_, json) => {
  await using model = await temporaryModel({ "tokenizer.json": json, "tokenizer_config.json": { eos_token: "</s>" } });
  const { directory } = model;
  const [tokenizer, vocabulary] = await Promise.all([openTokenizer(directory), openVocabulary(directory)]);
  for (const continued of [false, true]) {
    const texts = array(string({ unit: "binary", maxLength: 60 }), { minLength: 1, maxLength: 3 });
    await assert(
      asyncProperty(texts, async (given) => {
        const ids = await encodeTexts({ directory, texts: given, options: { continued } });
        expect(ids).toEqual(given.map((text) => tokenizer.encode(text, { continued })));
        expect(vocabulary.decode(ids[0]!)).toBe(tokenizer.decode(ids[0]!));
      }),
      { numRuns: 30 },
    );
  }
  const { vocab } = json["model"] as { vocab: Record<string, number> };
  for (const [token, id] of Object.entries(vocab)) {
    expect(vocabulary.tokenBytes(id)).toEqual(tokenizer.tokenBytes(id));
    const lowest = vocabulary.idOfBytes(vocabulary.tokenBytes(id))!;
    expect(lowest).toBeLessThanOrEqual(id);
    expect(vocabulary.tokenBytes(lowest)).toEqual(vocabulary.tokenBytes(id));
    expect(vocabulary.has(id)).toBe(true);
    // A text comes before an entry: `a` may be both.
    expect([id, vocabulary.idOfBytes(new TextEncoder().encode(token))]).toContain(vocabulary.idOf(token));
  }
  expect(vocabulary.idOf("nowhere")).toBeUndefined();
  expect([...vocabulary.specialIds]).toEqual([...tokenizer.specialIds]);
  expect(vocabulary.eosIds).toEqual(tokenizer.eosIds);
});

test("the last tokens of a text are those that the whole text has at its end", async () => {
  await using model = await temporaryModel({ "tokenizer.json": byteLevelTokenizer(chatMerges, chatTokens) });
  const { directory } = model;
  const texts = ["hello world ".repeat(2000)];
  const [whole] = await encodeTexts({ directory, texts, options: {} });
  for (const lastTokens of [0, 1, 7, 1_000_000]) {
    expect(await encodeTexts({ directory, texts, options: { lastTokens } })).toEqual([
      whole!.slice(Math.max(0, whole!.length - lastTokens)),
    ]);
  }
});

test("a tokenizer that cannot be opened in the thread is refused with its reason", async () => {
  await using model = await temporaryModel({ "tokenizer.json": { model: { type: "Unigram" } } });
  await expect(openVocabulary(model.directory)).rejects.toMatchObject({
    code: "unsupported",
    message: expect.stringContaining("Unigram"),
    details: { file: "tokenizer.json" },
  });
  await expect(openVocabulary(`${model.directory}/missing`)).rejects.toMatchObject({ code: "not_found" });
});
