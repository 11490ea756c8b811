import type { WeightsRef } from "@heddle/training";
import { HeddleError } from "@heddle/errors";
import type { ModelConfig } from "../model/config.js";
import type { Adapter } from "../weights/adapter.js";
import { readAdapter } from "../weights/adapter.js";
import type { BaseModelSettings } from "../weights/base-models.js";
import { describeBaseModel, loadBaseModel } from "../weights/base-models.js";
import { allFinite } from "../weights/finite.js";
import { describeWeights } from "../weights/load-weights.js";
import { openModelTensors } from "../weights/model-directory.js";
import type { TensorLocation } from "../weights/tensor-layout.js";
import { tensorLocations, tensorValues } from "../weights/tensor-layout.js";

/** The weights of a model with its adapter added to them, tensor by tensor. */
export interface MergedTensors {
  config: ModelConfig;
  /** Directory of the tokenizer, the chat template and, unless the weights are random, `config.json`. */
  directory: string;
  /** Whether `config.json` of the directory is that of the weights. */
  hasConfig: boolean;
  /** As Hugging Face files have them, in their order. */
  locations: TensorLocation[];
  /** Reads one tensor in the layout of its location; only one exists at a time. */
  read(location: TensorLocation): Promise<Float32Array>;
  close(): Promise<void>;
}

/** Opens weights. Needs memory for the adapter and the largest tensor; random weights are made as a whole. */
export async function openMergedTensors(settings: BaseModelSettings, ref: WeightsRef): Promise<MergedTensors> {
  const { config, adapter: isAdapter } = await describeWeights(settings, ref);
  const { info } = await describeBaseModel(settings, ref.baseModel);
  const { checkpoint } = ref;
  const isFull = checkpoint !== undefined && isAdapter === undefined;
  const adapter = checkpoint !== undefined && isAdapter ? await readAdapter(checkpoint, config) : undefined;
  const common = { config, locations: tensorLocations(config) };
  if (!isFull && ref.baseModel.startsWith("random:")) {
    const { weights } = await loadBaseModel(settings, ref.baseModel);
    return {
      ...common,
      directory: info.directory,
      hasConfig: false,
      read: async (location) =>
        merged(config, adapter, location, tensorValues(location, weights.views.get(location.parameter)!)),
      close: async () => undefined,
    };
  }
  const directory = isFull ? checkpoint : info.directory;
  const tensors = await openModelTensors(directory, config);
  return {
    ...common,
    directory,
    hasConfig: true,
    async read(location) {
      const values = await tensors.read(location.tensor);
      if (!allFinite(values)) throw tensors.error(location.tensor, "has numbers that are not finite");
      return merged(config, adapter, location, values);
    },
    close: () => tensors.close(),
  };
}

const projectionName = /^model\.layers\.(\d+)\.\w+\.(q|k|v|o|gate|up|down)_proj\.weight$/u;

/** Adds `alpha / rank * B A` to the weight [outputs, inputs] of a projection that the adapter has. */
function merged(
  { layers }: ModelConfig,
  adapter: Adapter | undefined,
  { tensor, shape }: TensorLocation,
  values: Float32Array,
): Float32Array {
  const [, layer, target] = projectionName.exec(tensor) ?? [];
  if (adapter === undefined || layer === undefined || Number(layer) >= layers) return values;
  const { config, set } = adapter;
  const a = set.views.get(`layers.${layer}.${target}.a`);
  const b = set.views.get(`layers.${layer}.${target}.b`);
  if (a === undefined || b === undefined) return values;
  const [outputs = 0, inputs = 0] = shape;
  const { rank, alpha } = config;
  const scale = alpha / rank;
  // A row of the sum at a time, in f64 as one product of the factors is rounded once.
  const rows = transposed(a, inputs, rank);
  const sum = new Float64Array(inputs);
  const into = values.slice();
  for (let output = 0; output < outputs; output++) {
    sum.fill(0);
    for (let r = 0; r < rank; r++) {
      const factor = b[r * outputs + output]!;
      if (factor === 0) continue;
      const from = r * inputs;
      for (let input = 0; input < inputs; input++) sum[input]! += factor * rows[from + input]!;
    }
    const at = output * inputs;
    for (let input = 0; input < inputs; input++) into[at + input]! += scale * sum[input]!;
  }
  const lost = into.findIndex((value) => !Number.isFinite(value));
  if (lost < 0) return into;
  throw new HeddleError("invalid", `${tensor}: the sum of the weight and its adapter is not finite`);
}

/** Returns a [rows, columns] matrix as [columns, rows]. */
function transposed(values: Float32Array, rows: number, columns: number): Float32Array {
  const into = new Float32Array(values.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) into[column * rows + row] = values[row * columns + column]!;
  return into;
}
