import { withLoc } from "@heddle/errors";
import { checkLoraConfig } from "../model/lora-config.js";
import type { ModelConfig } from "../model/config.js";
import type { LoraConfig, ParameterSet } from "../model/parameters.js";
import { adapterParameters, modelParameters, parameterSet } from "../model/parameters.js";

/**
 * Random weights to begin training with. They depend on the shape and the seed (unsigned 32 bit) alone: only additions and
 * multiplications are used, so every machine makes the same ones.
 *
 * Norms are 1, biases 0. A projection has the deviation 1 / sqrt(inputs), and those that write into the residual stream
 * less by sqrt(2 layers), so that its size does not grow with depth. The embedding has 1 / (2 sqrt(hidden)): the first
 * logits deviate by one half.
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
 * The factors of a new adapter, which changes nothing yet: `a` uniform within 1 / sqrt(inputs), as PEFT draws it (He's rule
 * with a negative slope of sqrt 5), `b` zero.
 *
 * @param seed unsigned 32 bit.
 * @throws HeddleError `invalid` for an adapter that makes no sense.
 */
export function initialAdapter(config: ModelConfig, adapter: LoraConfig, seed: number): ParameterSet {
  withLoc(["adapter"], () => checkLoraConfig(adapter));
  const set = parameterSet(adapterParameters(config, adapter));
  const random = seededRandom(seed);
  for (const { name, shape } of set.parameters) {
    if (!name.endsWith(".a")) continue;
    const bound = 1 / Math.sqrt(shape[0] ?? 1);
    const values = set.views.get(name)!;
    for (let at = 0; at < values.length; at++) values[at] = (2 * random() - 1) * bound;
  }
  return set;
}

/** The sum of three uniform numbers has the deviation one half; its bell is close enough to the normal one here. */
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
  // Until the seed has reached every bit of the state.
  for (let round = 0; round < 16; round++) next();
  return next;
}
