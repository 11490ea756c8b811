import { expect, test } from "vitest";
import { inFloat64 } from "../../test/float64-model.js";
import { float64Distribution, serveSmallModel } from "../../test/served-model.js";
import { randomWeights, smallModels } from "../../test/small-models.js";
import type { ModelConfig } from "../model/config.js";

/** A model of LongRoPE, whose texts are long ones above so many tokens. */
function longRope(originalContextLength: number): ModelConfig {
  return {
    ...smallModels["phi3, with a part of each head rotated"],
    layerKinds: [{}, {}],
    rotaryScaling: {
      type: "longrope",
      divisors: [1, 1.5],
      longDivisors: [2.5, 9],
      attentionFactor: 1.1,
      originalContextLength,
    },
  };
}

const promptOf = (length: number) => Int32Array.from({ length }, (_, i) => (i * i + 3) % 39);

/** Log-probabilities of tokens given those before them as texts of their own, of which those up to some length are short. */
function ofPrefixes(config: ModelConfig, text: readonly number[], longest: number): number[] {
  const model = inFloat64(config, randomWeights(config, 1));
  const [short, all] = [text.slice(0, longest), text].map((tokens) => float64Distribution(model, tokens));
  return text.slice(1).map((token, at) => (at < longest ? short! : all!)[at]![token]!);
}

test("completions that become long texts go on as transformers does, beside those that stay short", async () => {
  const config = longRope(12);
  const { sampler } = await serveSmallModel({ config });
  const request = { weights: "model", n: 2, ignoreEos: true, seed: 5 };
  const lengths = [7, 12, 13];
  const results = await Promise.all([
    ...lengths.map((length) => sampler.generate({ ...request, prompt: promptOf(length), maxTokens: 9 })),
    sampler.generate({ ...request, prompt: promptOf(5), maxTokens: 7 }),
  ]);
  for (const [at, { completions }] of results.entries()) {
    const prompt = [...promptOf(lengths[at] ?? 5)];
    expect(completions).toHaveLength(2);
    for (const { tokens } of completions) {
      expect(tokens).toHaveLength(at === 3 ? 7 : 9);
      const wanted = ofPrefixes(config, [...prompt, ...tokens.map(({ token }) => token)], 12).slice(prompt.length - 1);
      const worst = Math.max(...tokens.map(({ logprob }, i) => Math.abs(logprob - wanted[i]!)));
      expect(worst).toBeLessThan(1e-4);
    }
  }
  expect(sampler.stats()).toMatchObject({ rows: 0, queued: 0 });
  await sampler.close();
});

test("nothing that was kept of short texts is the beginning of long ones", async () => {
  const { sampler } = await serveSmallModel({ config: longRope(300) });
  const generate = async (length: number) => {
    const { completions, cachedTokens } = await sampler.generate({
      weights: "model",
      prompt: promptOf(length),
      n: 1,
      maxTokens: 1,
      temperature: 0,
    });
    return { cachedTokens, logprob: completions[0]!.tokens[0]!.logprob };
  };
  const long = await generate(310);
  expect((await generate(270)).cachedTokens).toBe(0);
  expect((await generate(280)).cachedTokens).toBe(256);
  const other = await generate(320);
  expect(other.cachedTokens).toBe(256);
  expect(await generate(310)).toEqual({ cachedTokens: 310, logprob: long.logprob });
  const { sampler: fresh } = await serveSmallModel({ config: longRope(300) });
  const unkept = await fresh.generate({ weights: "model", prompt: promptOf(320), n: 1, maxTokens: 1, temperature: 0 });
  expect(unkept.completions[0]!.tokens[0]!.logprob).toBe(other.logprob);
  await Promise.all([sampler.close(), fresh.close()]);
});

test("a beam search beyond the original context is refused by its field", async () => {
  const { sampler } = await serveSmallModel({ config: longRope(12) });
  const request = { weights: "model", n: 2, beamSearch: { lengthPenalty: 1 }, maxTokens: 4 };
  await expect(sampler.generate({ ...request, prompt: promptOf(9) })).rejects.toMatchObject({
    code: "unsupported",
    loc: ["beamSearch"],
    message: "a beam search cannot go beyond the original context of 12 tokens of this model",
  });
  for (const length of [8, 13]) {
    const { completions } = await sampler.generate({ ...request, prompt: promptOf(length) });
    expect(completions).toHaveLength(2);
  }
  await sampler.close();
});
