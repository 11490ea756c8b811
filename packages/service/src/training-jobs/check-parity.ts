import type { CheckpointParity } from "@heddle/control-plane";
import { encodeTexts } from "@heddle/chat-format";
import { HeddleError } from "@heddle/errors";
import type { TokenSequence, Trainer, TrainingEngine, WeightsRef } from "@heddle/training";

const text = "The weaver passes the shuttle through the warp, and the cloth grows by one thread.";
/** Maximum difference of a log-probability between training and serving. */
const parityTolerance = 1e-3;

/** Returns the log-probabilities of a fixed text under the weights of a trainer; undefined if they are not served here. */
export async function probeTrainer(
  engine: TrainingEngine,
  { baseModel }: WeightsRef,
  { trainer, signal }: { trainer: Trainer; signal: AbortSignal },
): Promise<Float64Array | undefined> {
  const probe = await probeOf(engine, baseModel);
  return probe && (await trainer.logprobs([probe], signal))[0];
}

/**
 * Loads weights for serving, and compares the log-probabilities of a fixed text as they are served with those of training,
 * which are computed if they are not given. Throws `failed` if they differ: rollouts would then train on wrong importance
 * ratios. Returns what was found; undefined for weights that are not served here.
 */
export async function checkParity(
  engine: TrainingEngine,
  weights: WeightsRef,
  { trained, signal }: { trained: Float64Array | undefined; signal: AbortSignal },
): Promise<CheckpointParity | undefined> {
  const probe = await probeOf(engine, weights.baseModel);
  if (probe === undefined) return undefined;
  await engine.sampler.preload(weights);
  const request = { weights, prompt: probe.tokens, n: 1, maxTokens: 1, seed: 1, promptLogprobs: 0 };
  const { promptLogprobs = [] } = await engine.sampler.generate(request, { signal });
  const expected = trained ?? (await trainedLogprobs(engine, weights, signal));
  const differences = promptLogprobs
    .slice(1)
    .map((entry, at) => Math.abs((entry?.[0].logprob ?? NaN) - (expected?.[at + 1] ?? NaN)));
  const difference = Math.max(...differences);
  if (differences.length > 0 && difference <= parityTolerance) {
    return {
      max_difference: difference,
      tolerance: parityTolerance,
      tokens: differences.length,
      checked_at: BigInt(Date.now()) * 1000n,
    };
  }
  const found = `log-probabilities of served and trained weights differ by up to ${difference}`;
  throw new HeddleError("failed", `${found}; at most ${parityTolerance} is accepted`, {
    details: { error_type: "parity" },
  });
}

async function probeOf(engine: TrainingEngine, baseModel: string): Promise<TokenSequence | undefined> {
  const base = (await engine.capabilities()).models.find(({ name }) => name === baseModel);
  if (base?.sampling === undefined) return undefined;
  const [tokens = new Int32Array()] = await encodeTexts({ directory: base.directory, texts: [text], options: {} });
  return { tokens, mask: Uint8Array.from(tokens, (_, at) => Number(at > 0)) };
}

async function trainedLogprobs(
  engine: TrainingEngine,
  weights: WeightsRef,
  signal: AbortSignal,
): Promise<Float64Array | undefined> {
  const trainer = await engine.openTrainer({ weights, seed: 0, resetOptimizer: true }, signal);
  try {
    return await probeTrainer(engine, weights, { trainer, signal });
  } finally {
    await trainer.close().catch(() => undefined);
  }
}
