import * as fc from "fast-check";
import { expect, test } from "vitest";
import { characterTokenizer } from "../../test/small-models.js";
import type { CompletionSampler } from "./completion-sampler.js";
import { createCompletionSampler } from "./completion-sampler.js";
import type { SamplingRequest } from "./sampling-request.js";

const size = 40;
const end = size - 1;
const tokenizer = characterTokenizer(size);
/** Token of a character. */
const tokensOf = (text: string) => Array.from(text, (character) => character.charCodeAt(0) - 48);

function complete(settings: Partial<SamplingRequest>, index = 0, tokens = tokenizer): CompletionSampler {
  const request = { prompt: Int32Array.of(1), n: 1, maxTokens: 100, ...settings };
  return createCompletionSampler({ request, tokenizer: tokens, eosIds: [end], rowSize: size, seed: 1 }, index);
}

/** Samples the given tokens from a model that is certain of them. Returns the pieces of text and the finish reason. */
function say(completion: CompletionSampler, tokens: number[]) {
  const pieces: string[] = [];
  for (const token of tokens) {
    const row = new Float32Array(size).fill(completion.source === "logits" ? -1e4 : 0);
    row[token] = completion.source === "logits" ? 1e4 : 1;
    const { text, finished } = completion.sample(row, 0);
    pieces.push(text);
    if (finished) {
      const result = completion.result();
      if (result instanceof Promise) throw new Error("there is no constraint");
      return { pieces, ...result, tokens: result.tokens.map(({ token }) => token) };
    }
  }
  return { pieces, text: pieces.join(""), tokens, finishReason: undefined, stopReason: undefined };
}

test("the end of text ends a completion and is a token of it, but not text", () => {
  const said = say(complete({}), [...tokensOf("AB"), end, 3]);
  expect(said).toMatchObject({ text: "AB", finishReason: "stop", stopReason: null, tokens: [17, 18, end] });
});

test("ignore_eos continues after the end of text", () => {
  const said = say(complete({ ignoreEos: true, maxTokens: 4 }), [...tokensOf("A"), end, ...tokensOf("BC")]);
  expect(said).toMatchObject({ text: "ABC", finishReason: "length", stopReason: null });
  const withEnd = say(complete({ ignoreEos: true, maxTokens: 2, skipSpecialTokens: false }), [17, end]);
  expect(withEnd.text).toBe("A<end>");
});

test("a stop token ends a completion and is named", () => {
  expect(say(complete({ stopTokenIds: [3] }), tokensOf("A3"))).toMatchObject({
    text: "A",
    finishReason: "stop",
    stopReason: 3,
    tokens: [17, 3],
  });
  expect(say(complete({ stopTokenIds: [3], includeStop: true }), tokensOf("A3")).text).toBe("A3");
});

test("a stop string ends a completion across tokens and is held back while it may come", () => {
  const said = say(complete({ stop: ["BCD"] }), tokensOf("ABCBCDE"));
  expect(said).toMatchObject({ text: "ABC", finishReason: "stop", stopReason: "BCD" });
  expect(said.pieces).toEqual(["A", "", "", "BC", "", ""]);
  expect(say(complete({ stop: ["BCD"], includeStop: true }), tokensOf("ABCBCDE")).text).toBe("ABCBCD");
});

test("held-back text is released at the end", () => {
  const said = say(complete({ stop: ["BCD"], maxTokens: 3 }), tokensOf("ABC"));
  expect(said).toMatchObject({ text: "ABC", finishReason: "length", pieces: ["A", "", "BC"] });
  expect(say(complete({ stop: ["BCD"] }), [...tokensOf("ABC"), end])).toMatchObject({ text: "ABC", stopReason: null });
});

test("a stop string with the last token is a stop, not the length", () => {
  expect(say(complete({ stop: ["BC"], maxTokens: 3 }), tokensOf("ABC"))).toMatchObject({
    text: "A",
    finishReason: "stop",
    stopReason: "BC",
  });
});

test("stop strings are searched for after the minimum number of tokens", () => {
  const said = say(complete({ stop: ["AA"], minTokens: 3 }), tokensOf("AAAAA"));
  expect(said).toMatchObject({ text: "AAA", finishReason: "stop", stopReason: "AA" });
});

test("the bytes of a character are held back until it is complete", () => {
  const bytes = new TextEncoder().encode("é€");
  const pieces = { ...tokenizer, tokenBytes: (id: number) => Uint8Array.of(bytes[id] ?? 65) };
  expect(say(complete({ maxTokens: 6 }, 0, pieces), [0, 1, 2, 3, 4, 20]).pieces).toEqual(["", "é", "", "", "€", "A"]);
  expect(say(complete({ maxTokens: 2 }, 0, pieces), [20, 2])).toMatchObject({
    text: "A\uFFFD",
    pieces: ["A", "\uFFFD"],
  });
});

test("a repeated pattern ends a completion", () => {
  const repetitionDetection = { maxPatternSize: 3, minPatternSize: 2, minCount: 3 };
  expect(say(complete({ repetitionDetection }), tokensOf("CABABABAB"))).toMatchObject({
    text: "CABABAB",
    finishReason: "repetition",
    stopReason: "repetition_detected",
  });
  const late = say(complete({ repetitionDetection, minTokens: 9 }), tokensOf("CABABABABAB"));
  expect(late.text).toBe("CABABABAB");
});

test("streamed pieces add up to the text for any tokens and stops", () => {
  const token = fc.integer({ min: 17, max: 19 });
  const stop = fc.string({ unit: fc.constantFrom("A", "B"), minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(fc.array(token, { minLength: 1 }), fc.array(stop), fc.boolean(), (tokens, stop, includeStop) => {
      const { pieces, text } = say(complete({ stop, includeStop, maxTokens: tokens.length }), tokens);
      expect(pieces.join("")).toBe(text);
      const all = tokens.map((each) => String.fromCharCode(48 + each)).join("");
      expect(all.startsWith(text)).toBe(true);
      if (!includeStop) for (const each of stop) expect(text.includes(each)).toBe(false);
    }),
  );
});

const spread = Float32Array.from({ length: size }, (_, token) => Math.sin(token) * 2);

test("alternatives and log-probabilities are of the raw distribution with any controls", () => {
  const plain = complete({ topLogprobs: 3, temperature: 0 }).sample(spread, 0).token;
  const [best] = plain.alternatives;
  const controlled = complete({
    topLogprobs: 3,
    temperature: 3,
    topK: 2,
    logitBias: new Map([[best!.token, -50]]),
    presencePenalty: 1,
  });
  const { token, logprob, alternatives } = controlled.sample(spread, 0).token;
  expect(alternatives).toEqual(plain.alternatives);
  const sum = spread.reduce((total, logit) => total + Math.exp(logit), 0);
  expect(token).not.toBe(best!.token);
  expect(logprob).toBeCloseTo(spread[token]! - Math.log(sum), 10);
});

test("without controls, probabilities of the model draw the same tokens as its logits", () => {
  const sum = spread.reduce((total, logit) => total + Math.exp(logit), 0);
  const probabilities = spread.map((logit) => Math.exp(logit) / sum);
  const [cheap, full] = [complete({ ignoreEos: true }), complete({ ignoreEos: true, topLogprobs: 1 })];
  expect([cheap.source, full.source]).toEqual(["probabilities", "logits"]);
  for (let i = 0; i < 50; i++) {
    const [a, b] = [cheap.sample(probabilities, 0).token, full.sample(spread, 0).token];
    expect(a.token).toBe(b.token);
    expect(a.logprob).toBeCloseTo(b.logprob, 5);
  }
});

test("completion i of n draws as the first one does with seed + i", () => {
  const draw = (seed: number, index: number) => {
    const request = { prompt: Int32Array.of(1), n: 3, maxTokens: 30, ignoreEos: true, topLogprobs: 1 };
    const completion = createCompletionSampler({ request, tokenizer, eosIds: [end], rowSize: size, seed }, index);
    return Array.from({ length: 30 }, () => completion.sample(spread, 0).token.token);
  };
  expect(draw(7, 2)).toEqual(draw(9, 0));
  expect(draw(7, 2)).not.toEqual(draw(7, 1));
  expect(draw(2 ** 32 - 1, 1)).toEqual(draw(0, 0));
});

test("rows of the model beyond the vocabulary are never drawn", () => {
  const small = { ...tokenizer, vocabularySize: 4 };
  const completion = complete({ ignoreEos: true }, 0, small);
  const row = new Float32Array(size).fill(1);
  const drawn = Array.from({ length: 60 }, () => completion.sample(row, 0).token.token);
  expect(new Set(drawn)).toEqual(new Set([0, 1, 2, 3]));
});

test("NaN weights fail the request", () => {
  for (const settings of [{}, { topLogprobs: 1 }, { temperature: 0 }]) {
    const row = new Float32Array(size).fill(NaN);
    expect(() => complete(settings).sample(row, 0)).toThrow(expect.objectContaining({ code: "failed" }));
  }
});

test("settings that allow no token are refused by name", () => {
  const settings = { allowedTokenIds: [3], badWords: [Int32Array.of(3)] };
  for (const temperature of [0, 1]) {
    expect(() => complete({ ...settings, temperature }).sample(spread, 0)).toThrow(
      expect.objectContaining({ code: "invalid", loc: ["allowedTokenIds"] }),
    );
  }
});
