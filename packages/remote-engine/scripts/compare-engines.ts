import assert from "node:assert/strict";
import { join } from "node:path";
import type {
  GenerateRequest,
  Objective,
  OptimizerSettings,
  PolicySettings,
  SamplerProvider,
  TokenSequence,
  Trainer,
  TrainerProvider,
  TrainingEngine,
  WeightsRef,
} from "@heddle/training";

interface Engines {
  embedded: TrainingEngine;
  trainers: TrainerProvider;
  sampler: SamplerProvider;
  directory: string;
}

/** Two engines compute in different orders, and some in parts of float32. */
const tolerance = 1e-4;
const base: WeightsRef = { baseModel: "heddle/starter" };
const prompt = Int32Array.of(300, 310, 320, 305, 17, 42);
const adam: OptimizerSettings = {
  learningRate: 0.01,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradientNorm: 0,
};

/** Runs the checks in order and prints one line per check. The first one that fails throws. */
export async function compareEngines({ embedded, trainers, sampler, directory }: Engines): Promise<void> {
  const reference = await embedded.openTrainer({ weights: base, seed: 1 });
  const trainer = await trainers.openTrainer({ weights: base, seed: 1 });
  assert.deepEqual(await trainers.health(), { ok: true });
  assert.deepEqual(await sampler.health(), { ok: true });
  const texts = [lesson(12, 3), lesson(20, 5), lesson(9, 2)];

  const untrained = await reference.logprobs(texts);
  report(
    "log-probabilities of the base model: embedded and SkyRL",
    difference(await trainer.logprobs(texts), untrained),
  );
  const greedy: GenerateRequest = { weights: base, prompt, n: 1, maxTokens: 8, temperature: 0, ignoreEos: true };
  const ownTokens = await embedded.sampler.generate({ ...greedy, topLogprobs: 3, promptLogprobs: 2 });
  const servedTokens = await sampler.sampler.generate({ ...greedy, topLogprobs: 3, promptLogprobs: 2 });
  assert.deepEqual(tokensOf(servedTokens), tokensOf(ownTokens));
  report(
    "greedy tokens and alternatives of the base model: embedded and vLLM",
    difference(numbersOf(servedTokens), numbersOf(ownTokens)),
  );

  report(
    "gradient norm of twice the data",
    Math.abs(2 - (await gradientNorm(trainer, [...texts, ...texts])) / (await gradientNorm(trainer, texts))),
  );
  const linear: Objective = { name: "cross_entropy", sequences: texts, normalizer: 1 };
  const on = policy(texts, untrained);
  report(
    "gradient norm of a policy loss on its own samples",
    Math.abs(1 - (await objectiveNorm(trainer, on)) / (await objectiveNorm(trainer, linear))),
  );

  const losses: number[] = [];
  for (let step = 0; step < 6; step++) {
    losses.push((await trainer.forwardBackward({ ...linear, normalizer: 35 })).loss);
    await trainer.optimStep(adam);
  }
  assert.ok(losses[5]! < losses[0]! - 0.5, `the loss did not fall: ${losses.join(", ")}`);
  const before = await trainer.logprobs(texts);
  const { metrics } = await trainer.forwardBackward(
    policy(texts, before, { importanceSamplingLevel: "sequence", k2Tau: 0.1 }),
  );
  assert.ok(Math.abs(metrics["importance_ratio_mean"]! - 1) < tolerance);
  await trainer.optimStep({ ...adam, learningRate: 1e-3 });
  console.log(`trained: loss ${losses.map((loss) => loss.toFixed(3)).join(" ")}`);

  const trained = await trainer.exportWeights(join(directory, "exported"), { state: true });
  const completion = await sampler.sampler.generate({ ...greedy, weights: trained });
  const tokens = completion.completions[0]!.tokens;
  const sequence: TokenSequence = {
    tokens: Int32Array.from([...prompt, ...tokens.map(({ token }) => token)]),
    mask: Uint8Array.from([...prompt.map(() => 0), ...tokens.map(() => 1)]),
  };
  const scored = (await trainer.logprobs([sequence]))[0]!.slice(prompt.length);
  report(
    "log-probabilities of a completion by the checkpoint: SkyRL and vLLM",
    difference([scored], [tokens.map(({ logprob }) => logprob)]),
  );
  const probe = await sampler.sampler.generate({
    ...greedy,
    prompt: sequence.tokens,
    maxTokens: 1,
    weights: trained,
    promptLogprobs: 0,
  });
  report(
    "log-probabilities of a prompt by the checkpoint: SkyRL and vLLM",
    difference([probe.promptLogprobs!.slice(prompt.length).map((entry) => entry![0].logprob)], [scored]),
  );
  const streamed: number[] = [];
  const onChunk = ({ tokens: part }: { tokens: { token: number }[] }) =>
    void streamed.push(...part.map(({ token }) => token));
  await sampler.sampler.generate({ ...greedy, weights: trained }, { onChunk });
  assert.deepEqual(
    streamed,
    tokens.map(({ token }) => token),
  );

  const after = await trainer.logprobs(texts);
  assert.ok(difference(after, untrained) > 0.1, "training did not change the model");
  await trainer.close();
  const resumed = await trainers.openTrainer({ weights: trained, seed: 1 });
  report("log-probabilities after resuming from the saved state", difference(await resumed.logprobs(texts), after));
  await resumed.close();
  await trainers.deleteWeights(trained);

  const again = await reference.logprobs(texts);
  report("the base model is unchanged", difference(again, untrained));
  const adapter = await adapterOfEmbedded(embedded, reference, texts, directory);
  const own = await embedded.sampler.generate({ ...greedy, weights: adapter });
  const served = await sampler.sampler.generate({ ...greedy, weights: adapter });
  assert.deepEqual(tokensOf(served), tokensOf(own));
  report("an adapter of the embedded engine: embedded and vLLM", difference(numbersOf(served), numbersOf(own)));
  await sampler.sampler.unload(adapter);
  await sampler.sampler.unload(trained);
  console.log("Remote engines: all checks passed");
}

async function adapterOfEmbedded(
  embedded: TrainingEngine,
  reference: Trainer,
  texts: TokenSequence[],
  directory: string,
) {
  await reference.close();
  const adapter = { rank: 4, alpha: 8, targets: ["q" as const, "v" as const, "down" as const] };
  const trainer = await embedded.openTrainer({ weights: base, adapter, seed: 3 });
  for (let step = 0; step < 3; step++) {
    await trainer.forwardBackward({ name: "cross_entropy", sequences: texts, normalizer: 35 });
    await trainer.optimStep(adam);
  }
  const exported = await trainer.exportWeights(join(directory, "embedded-adapter"));
  await trainer.close();
  return exported;
}

/** Returns the norm of the gradient without changing the weights. */
function gradientNorm(trainer: Trainer, sequences: TokenSequence[]): Promise<number> {
  return objectiveNorm(trainer, { name: "cross_entropy", sequences, normalizer: 1 });
}

async function objectiveNorm(trainer: Trainer, objective: Objective): Promise<number> {
  await trainer.forwardBackward(objective);
  return (await trainer.optimStep({ ...adam, learningRate: 0 })).gradientNorm;
}

/** With these samples, the gradient is that of cross-entropy. */
function policy(
  sequences: TokenSequence[],
  logprobs: Float64Array[],
  settings: Partial<PolicySettings> = {},
): Objective {
  return {
    name: "policy",
    normalizer: 1,
    settings: {
      ppo: true,
      epsilon: 0.2,
      epsilonHigh: 0.2,
      importanceSamplingLevel: "token",
      maskProbRatio: false,
      ...settings,
    },
    sequences: sequences.map((sequence, at) => ({
      ...sequence,
      weights: new Float64Array(sequence.tokens.length).fill(1),
      advantages: new Float64Array(sequence.tokens.length).fill(1),
      oldLogprobs: logprobs[at]!,
    })),
  };
}

function lesson(length: number, promptLength: number): TokenSequence {
  return {
    tokens: Int32Array.from({ length }, (_, t) => 300 + ((t * t * 7 + length) % 400)),
    mask: Uint8Array.from({ length }, (_, t) => (t < promptLength ? 0 : 1)),
  };
}

type Generated = Awaited<ReturnType<SamplerProvider["sampler"]["generate"]>>;

function tokensOf({ completions }: Generated): number[][] {
  return completions.map(({ tokens }) => tokens.map(({ token }) => token));
}

/** Log-probabilities of a result in a fixed order; alternatives are compared as numbers. */
function numbersOf({ completions, promptLogprobs = [] }: Generated): number[][] {
  return [
    ...completions.map(({ tokens }) =>
      tokens.flatMap(({ logprob, alternatives }) => [logprob, ...alternatives.map((each) => each.logprob)]),
    ),
    ...promptLogprobs.map((entry) => (entry ?? []).map(({ logprob }) => logprob)),
  ];
}

function difference(found: ArrayLike<number>[], expected: ArrayLike<number>[]): number {
  assert.deepEqual(
    found.map(({ length }) => length),
    expected.map(({ length }) => length),
  );
  let most = 0;
  for (const [at, row] of expected.entries()) {
    for (let t = 0; t < row.length; t++) {
      if (!Number.isNaN(row[t]!)) most = Math.max(most, Math.abs(row[t]! - found[at]![t]!));
    }
  }
  return most;
}

function report(what: string, error: number): void {
  console.log(`${what}: ${error.toExponential(1)}`);
  assert.ok(error < tolerance, `${what}: ${error} is more than ${tolerance}`);
}
