import { array, assert, nat, property, string } from "fast-check";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  byteLevelTokenizer,
  chatMerges,
  chatTokens,
  sentencePieceTokenizer,
  temporaryModel,
} from "../test/text-models.js";
import { createTextStream } from "./text-stream.js";
import type { Tokenizer } from "./tokenizer.js";
import { openTokenizer } from "./tokenizer.js";

const anyText = string({ unit: "binary", maxLength: 60 });

async function openFrom(files: Record<string, unknown>): Promise<Tokenizer> {
  await using model = await temporaryModel(files);
  return await openTokenizer(model.directory);
}

const chat = () => openFrom({ "tokenizer.json": byteLevelTokenizer(chatMerges, chatTokens) });

describe("a byte-level tokenizer", () => {
  test("decodes every encoded text", async () => {
    const tokenizer = await chat();
    assert(
      property(anyText, (text) => {
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
      }),
    );
    for (const text of ["", "\uFEFFmark", "👩‍👩‍👧 e\u0301 \r\n\t\0", "<|im_start|>user\nhello world<|im_end|>"]) {
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }
  });

  test("gives the bytes of each token, which together are the text", async () => {
    const tokenizer = await chat();
    assert(
      property(anyText, (text) => {
        const bytes = [...tokenizer.encode(text)].map((id) => tokenizer.tokenBytes(id));
        expect(Buffer.concat(bytes).equals(Buffer.from(text))).toBe(true);
      }),
    );
    const all = Array.from({ length: 256 }, (_, id) => tokenizer.tokenBytes(id)[0]);
    expect(new Set(all).size).toBe(256);
  });

  test("merges in the order of its merges and keeps control tokens whole", async () => {
    const tokenizer = await chat();
    const ids = tokenizer.encode("hello world<|im_end|>");
    expect([...ids].map((id) => tokenizer.tokenText(id))).toEqual(["hello", " world", "<|im_end|>"]);
    expect(tokenizer.decode(ids, { skipSpecialTokens: true })).toBe("hello world");
    const think = tokenizer.encode("<think>");
    expect(tokenizer.decode(think, { skipSpecialTokens: true })).toBe("<think>");
  });

  test("finds a token by its spelling and by its text", async () => {
    const tokenizer = await chat();
    const world = tokenizer.encode(" world")[0];
    expect(tokenizer.idOf("Ġworld")).toBe(world);
    expect(tokenizer.idOf(" world")).toBe(world);
    expect(tokenizer.idOf("nowhere")).toBeUndefined();
    expect(tokenizer.idOf("")).toBeUndefined();
  });

  test("streams text as soon as its characters are complete", async () => {
    const tokenizer = await chat();
    const stream = createTextStream(tokenizer);
    const pieces = [...tokenizer.encode("é👍!")].map((id) => stream.push(id));
    expect(pieces).toEqual(["", "é", "", "", "", "👍", "!"]);
    expect(stream.flush()).toBe("");
    const cut = tokenizer.encode("👍").slice(0, 2);
    expect([...cut].map((id) => stream.push(id)).join("") + stream.flush()).toBe("\uFFFD");
    assert(
      property(array(nat(tokenizer.vocabularySize - 1)), (ids) => {
        const text = ids.map((id) => stream.push(id)).join("") + stream.flush();
        expect(text).toBe(tokenizer.decode(ids));
      }),
    );
  });

  test("refuses text of too many tokens, however long it is", async () => {
    const tokenizer = await chat();
    expect(tokenizer.encode("hello world", { maxTokens: 2 })).toHaveLength(2);
    for (const [text, reason] of [
      ["hello world!", "the text has 3 tokens; at most 2"],
      ["hello ".repeat(100_000), /has more than \d+ tokens; at most 2/],
      ["x".repeat(5_000_000), "at most 4194304 are tokenized"],
    ] as const) {
      expect(() => tokenizer.encode(text, { maxTokens: 2 })).toThrow(expect.objectContaining({ code: "too_large" }));
      expect(() => tokenizer.encode(text, { maxTokens: 2 })).toThrow(reason);
    }
  });

  test("ignores ids without a token", async () => {
    const tokenizer = await chat();
    for (const id of [-1, tokenizer.vocabularySize, 1.5, Number.NaN]) {
      expect(tokenizer.has(id)).toBe(false);
      expect(tokenizer.tokenBytes(id)).toHaveLength(0);
      expect(tokenizer.decode([id])).toBe("");
    }
  });
});

describe("a SentencePiece tokenizer", () => {
  test("decodes encoded text, including the leading space", async () => {
    const tokenizer = await openFrom({ "tokenizer.json": sentencePieceTokenizer() });
    for (const text of ["hello", " hello", "  hello world ", "ünï 👍", "é"]) {
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }
    const begun = tokenizer.encode("hello", { addSpecialTokens: true });
    expect([...begun].map((id) => tokenizer.tokenText(id))).toEqual(["<s>", " hello"]);
    expect(tokenizer.tokenBytes(tokenizer.idOf("<0xF0>") ?? -1)).toEqual(Uint8Array.of(0xf0));
    expect(tokenizer.encode("👍").subarray(-4)).toHaveLength(4);
  });

  test("prepends no space to continued text", async () => {
    const tokenizer = await openFrom({ "tokenizer.json": sentencePieceTokenizer() });
    const continued = tokenizer.encode("a hello", { continued: true });
    expect([...continued].map((id) => tokenizer.tokenText(id))).toEqual(["a", " hello"]);
  });
});

describe("the tokens that end a completion", () => {
  const tokenizer = byteLevelTokenizer(chatMerges, chatTokens);
  const idOf = (name: string) => 256 + chatMerges.length + chatTokens.indexOf(name);

  test("are the tokenizer's own, then those of the generation settings", async () => {
    const opened = await openFrom({
      "tokenizer.json": tokenizer,
      "tokenizer_config.json": {
        eos_token: { content: "<|im_end|>" },
        bos_token: "<|begin_of_text|>",
        pad_token: null,
      },
      "generation_config.json": { eos_token_id: [idOf("<|endoftext|>"), idOf("<|im_end|>"), 99_999] },
      "config.json": { eos_token_id: idOf("<|eot_id|>") },
    });
    expect(opened.eosIds).toEqual([idOf("<|im_end|>"), idOf("<|endoftext|>")]);
    expect(opened.specialTokens).toEqual({ eos_token: "<|im_end|>", bos_token: "<|begin_of_text|>" });
  });

  test("come from config.json when nothing else names them", async () => {
    const opened = await openFrom({ "tokenizer.json": tokenizer, "config.json": { eos_token_id: idOf("<|eot_id|>") } });
    expect(opened.eosIds).toEqual([idOf("<|eot_id|>")]);
    expect((await openFrom({ "tokenizer.json": tokenizer })).eosIds).toEqual([]);
  });
});

describe("a broken directory is refused with the file and the reason", () => {
  const good = byteLevelTokenizer(chatMerges, chatTokens);
  const model = good["model"] as Record<string, unknown>;

  test.each([
    ["no tokenizer", {}, /there is no tokenizer\.json/],
    ["half a file", { "tokenizer.json": '{"model": {"type": "BPE", "voc' }, /tokenizer\.json: not valid JSON/],
    ["a list", { "tokenizer.json": "[]" }, /tokenizer\.json: not a JSON object/],
    [
      "a word model",
      { "tokenizer.json": { ...good, model: { type: "WordPiece", vocab: {} } } },
      /only BPE is supported/,
    ],
    ["ids that are not", { "tokenizer.json": { ...good, model: { ...model, vocab: { a: -1 } } } }, /model\.vocab "a"/],
    ["a huge id", { "tokenizer.json": { ...good, model: { ...model, vocab: { a: 4e9 } } } }, /model\.vocab "a"/],
    [
      "one id twice",
      { "tokenizer.json": { ...good, model: { ...model, vocab: { a: 0, b: 0 } } } },
      /id 0 is already used by "a"/,
    ],
    ["merges that are not", { "tokenizer.json": { ...good, model: { ...model, merges: [["a"]] } } }, /model\.merges/],
    ["tokens without text", { "tokenizer.json": { ...good, added_tokens: [{ id: 3 }] } }, /added_tokens\.0\.content/],
    [
      "an unknown decoder",
      { "tokenizer.json": { ...good, decoder: null, pre_tokenizer: null } },
      /decoders are supported/,
    ],
    ["a foreign step", { "tokenizer.json": { ...good, normalizer: { type: "Magic" } } }, /tokenizer\.json: .*Magic/],
    [
      "broken settings",
      { "tokenizer.json": good, "generation_config.json": "{" },
      /generation_config\.json: not valid/,
    ],
    [
      "foreign letters",
      { "tokenizer.json": { ...good, model: { ...model, vocab: { 日: 0 } } } },
      /"日" has a character outside/,
    ],
  ])("%s", async (_, files: Record<string, unknown>, reason) => {
    await expect(openFrom(files)).rejects.toMatchObject({
      name: "HeddleError",
      message: expect.stringMatching(reason),
    });
  });

  test("a directory instead of the file, and no directory", async () => {
    const directory = await mkdtemp(join(tmpdir(), "heddle-text-"));
    await mkdir(join(directory, "tokenizer.json"));
    await expect(openTokenizer(directory)).rejects.toThrow("not a regular file");
    await rm(directory, { recursive: true });
    await expect(openTokenizer(directory)).rejects.toMatchObject({ code: "not_found" });
  });
});
