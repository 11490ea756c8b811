import { openTokenizer } from "@heddle/chat-format";
import { HeddleError } from "@heddle/errors";
import type { TrainingEngine, WeightsRef } from "@heddle/training";

const probe = "The weaver passes the shuttle through the warp.";
const probedTokens = 16;
/** Maximum difference of a log-probability between training and serving. */
export const parityTolerance = 1e-3;

/**
 * Samples a few tokens with weights as they are served, and compares their log-probabilities with those that training
 * computes. Throws `failed` if they differ: rollouts would then train on wrong importance ratios.
 */
export async function checkParity(engine: TrainingEngine, weights: WeightsRef, signal: AbortSignal): Promise<void> {
  const { models } = await engine.capabilities();
  const base = models.find(({ name }) => name === weights.baseModel);
  // A model that is not served has nothing to compare.
  if (base?.sampling === undefined) return;
  await engine.sampler.preload(weights);
  const tokenizer = await openTokenizer(base.directory);
  const prompt = tokenizer.encode(probe);
  const request = { weights, prompt, n: 1, maxTokens: probedTokens, seed: 1, ignoreEos: true };
  const { completions } = await engine.sampler.generate(request, { signal });
  const sampled = completions[0]?.tokens ?? [];
  const tokens = Int32Array.from([...prompt, ...sampled.map(({ token }) => token)]);
  const mask = Uint8Array.from(tokens, (_, at) => Number(at >= prompt.length));
  const trained = await trainedLogprobs(engine, weights, { tokens, mask }, signal);
  const difference = Math.max(
    0,
    ...sampled.map(({ logprob }, at) => Math.abs(logprob - (trained[prompt.length + at] ?? NaN))),
  );
  if (difference <= parityTolerance) return;
  const found = `log-probabilities of served and trained weights differ by up to ${difference}`;
  throw new HeddleError("failed", `${found}; at most ${parityTolerance} is accepted`, {
    details: { error_type: "parity" },
  });
}

async function trainedLogprobs(
  engine: TrainingEngine,
  weights: WeightsRef,
  sequence: { tokens: Int32Array; mask: Uint8Array },
  signal: AbortSignal,
): Promise<Float64Array> {
  const trainer = await engine.openTrainer({ weights, seed: 0, resetOptimizer: true }, signal);
  try {
    const [logprobs = new Float64Array()] = await trainer.logprobs([sequence], signal);
    return logprobs;
  } finally {
    await trainer.close().catch(() => undefined);
  }
}
