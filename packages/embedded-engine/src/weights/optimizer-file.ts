import type { WrittenFile } from "@heddle/durable-files";
import type { ModelParameter } from "../model/parameters.js";
import { parameterSet } from "../model/parameters.js";
import { allFinite } from "./finite.js";
import { writeSafetensors } from "./safetensors.js";
import { openTensors } from "./sharded-tensors.js";

/**
 * State of Adam for the trained parameters (all weights, or an adapter's factors), in the order of their flat array.
 */
export interface OptimizerState {
  /** Optimizer steps so far. */
  steps: number;
  /** Running mean of the gradient. */
  first: Float32Array;
  /** Running mean of the squared gradient. */
  second: Float32Array;
}

const moments = ["first", "second"] as const;

/** Writes `optimizer.safetensors`: both moments of each parameter, in f32. */
export async function writeOptimizer(
  path: string,
  parameters: ModelParameter[],
  state: OptimizerState,
): Promise<WrittenFile> {
  const sources = moments.flatMap((moment) =>
    parameters.map(({ name, shape, offset, size }) => ({
      name: `${moment}.${name}`,
      shape,
      values: () => state[moment].subarray(offset, offset + size),
    })),
  );
  return writeSafetensors(path, sources, "F32");
}

/**
 * Reads `optimizer.safetensors` of a directory for the given parameters.
 *
 * @throws HeddleError `not_found` or `invalid`, naming the tensor.
 */
export async function readOptimizer(
  directory: string,
  parameters: ModelParameter[],
  steps: number,
): Promise<OptimizerState> {
  const tensors = await openTensors(directory, "optimizer");
  try {
    for (const moment of moments) {
      for (const { name, shape } of parameters) tensors.require(`${moment}.${name}`, shape);
    }
    const read = async (moment: (typeof moments)[number]) => {
      const { flat, views } = parameterSet(parameters);
      for (const { name } of parameters) {
        const values = await tensors.read(`${moment}.${name}`, views.get(name));
        if (!allFinite(values)) throw tensors.error(`${moment}.${name}`, "has numbers that are not finite");
      }
      return flat;
    };
    return { steps, first: await read("first"), second: await read("second") };
  } finally {
    await tensors.close();
  }
}
