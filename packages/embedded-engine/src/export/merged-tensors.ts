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
import { projectionRows } from "../weights/projection-rows.js";
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

const moduleName = /^model\.layers\.(\d+)\.(\w+\.\w+)\.weight$/u;

/** Adds `alpha / rank * B A` to the rows of each projection, in a weight [outputs, inputs], that the adapter has. */
function merged(
  model: ModelConfig,
  adapter: Adapter | undefined,
  { tensor, shape }: TensorLocation,
  values: Float32Array,
): Float32Array {
  const [, layer, module] = moduleName.exec(tensor) ?? [];
  if (adapter === undefined || layer === undefined || Number(layer) >= model.layers) return values;
  const parts = projectionRows(model).filter((each) => each.module === module);
  const sums = parts.filter(({ target }) => adapter.set.views.has(`layers.${layer}.${target}.a`));
  if (sums.length === 0) return values;
  const [, inputs = 0] = shape;
  const into = values.slice();
  for (const { target, firstRow, rows } of sums) {
    const part = into.subarray(firstRow * inputs, (firstRow + rows) * inputs);
    addProduct(adapter, `layers.${layer}.${target}`, [rows, inputs], part);
  }
  const lost = into.findIndex((value) => !Number.isFinite(value));
  if (lost < 0) return into;
  throw new HeddleError("invalid", `${tensor}: the sum of the weight and its adapter is not finite`);
}

function addProduct(
  { config, set }: Adapter,
  name: string,
  [outputs, inputs]: [number, number],
  into: Float32Array,
): void {
  const [a, b] = [set.views.get(`${name}.a`)!, set.views.get(`${name}.b`)!];
  const { rank, alpha } = config;
  const scale = alpha / rank;
  // A row of the sum at a time, in f64 as one product of the factors is rounded once.
  const rows = transposed(a, inputs, rank);
  const sum = new Float64Array(inputs);
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
}

/** Returns a [rows, columns] matrix as [columns, rows]. */
function transposed(values: Float32Array, rows: number, columns: number): Float32Array {
  const into = new Float32Array(values.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) into[column * rows + row] = values[row * columns + column]!;
  return into;
}
