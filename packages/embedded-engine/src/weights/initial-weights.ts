import type { LoraConfig } from "@heddle/training";
import { withLoc } from "@heddle/errors";
import { checkLoraConfig } from "../model/lora-config.js";
import { requireWholeModules } from "./projection-rows.js";
import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import { adapterParameters, modelParameters, parameterSet } from "../model/parameters.js";

/**
 * Returns random initial weights. They depend only on the shape and the seed (unsigned 32 bit): only additions and
 * multiplications are used, so the result is the same on every machine.
 *
 * Norms are 1, biases 0. The standard deviation of a projection is 1 / sqrt(inputs), divided by sqrt(2 layers) for
 * those that write into the residual stream, whose size then does not grow with depth. That of the embedding is 1 / (2
 * sqrt(hidden)), so that of the first logits is 0.5.
 */
export function initialWeights(config: ModelConfig, seed: number): ParameterSet {
  const set = parameterSet(modelParameters(config));
  const random = seededRandom(seed);
  const residual = 1 / Math.sqrt(2 * config.layers);
  for (const { name, shape } of set.parameters) {
    const values = set.views.get(name)!;
    const [inputs = 1] = shape;
    if (name.endsWith("_bias")) values.fill(0);
    else if (shape.length === 1) values.fill(1);
    else if (name === "embedding" || name === "head") fillNormal(values, 0.5 / Math.sqrt(config.hiddenSize), random);
    else {
      const writesResidual = name.endsWith("attention_output") || name.endsWith("down");
      fillNormal(values, (writesResidual ? residual : 1) / Math.sqrt(inputs), random);
    }
  }
  return set;
}

/**
 * Returns the factors of a new adapter without effect: `a` is uniform within 1 / sqrt(inputs), as in PEFT (Kaiming
 * uniform with a negative slope of sqrt 5); `b` is zero.
 *
 * @param seed unsigned 32 bit.
 * @throws HeddleError `invalid` for an invalid adapter configuration.
 */
export function initialAdapter(config: ModelConfig, adapter: LoraConfig, seed: number): ParameterSet {
  const steps = initialAdapterSteps(config, adapter, seed);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The same in steps of one tensor each, between which other work may go on. */
export function* initialAdapterSteps(
  config: ModelConfig,
  adapter: LoraConfig,
  seed: number,
): Generator<void, ParameterSet> {
  withLoc(["adapter"], () => {
    checkLoraConfig(adapter);
    requireWholeModules(config, adapter);
  });
  const set = parameterSet(adapterParameters(config, adapter));
  const random = seededRandom(seed);
  for (const { name, shape } of set.parameters) {
    if (!name.endsWith(".a")) continue;
    const bound = 1 / Math.sqrt(shape[0] ?? 1);
    const values = set.views.get(name)!;
    for (let at = 0; at < values.length; at++) values[at] = (2 * random() - 1) * bound;
    yield;
  }
  return set;
}

/** Approximates a normal distribution: the sum of three uniform numbers has the standard deviation 0.5. */
function fillNormal(values: Float32Array, deviation: number, random: () => number): void {
  for (let at = 0; at < values.length; at++) values[at] = (random() + random() + random() - 1.5) * 2 * deviation;
}

/** Chris Doty-Humphrey's sfc32: uniform in [0, 1) with 32 bits. */
function seededRandom(seed: number): () => number {
  let [a, b, c, counter] = [0, seed | 0, 0x9e3779b9 | 0, 1];
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  // Discards outputs until the seed has affected every bit of the state.
  for (let round = 0; round < 16; round++) next();
  return next;
}
