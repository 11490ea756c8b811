import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { WrittenFile } from "@heddle/durable-files";
import { writeDurableFile } from "@heddle/durable-files";
import type { LoraConfig } from "@heddle/training";
import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import { adapterParameters, parameterSet, projectionShape } from "../model/parameters.js";
import type { AdaptedModule } from "./adapter-config.js";
import { adapterConfigJson, modulesOf, readAdapterDescription } from "./adapter-config.js";
import { allFinite } from "./finite.js";
import type { ProjectionRows } from "./projection-rows.js";
import type { WeightFormat } from "./number-formats.js";
import { writeSafetensors } from "./safetensors.js";
import type { Tensors } from "./sharded-tensors.js";
import { openTensors } from "./sharded-tensors.js";
import type { TensorLocation } from "./tensor-layout.js";
import { storeTensor, tensorValues } from "./tensor-layout.js";

export interface Adapter {
  config: LoraConfig;
  set: ParameterSet;
}

/** Reads the shape of an adapter from `adapter_config.json`, without its numbers. */
export async function readAdapterConfig(directory: string, model: ModelConfig): Promise<LoraConfig> {
  const tensors = await openTensors(directory, "adapter_model");
  try {
    return (await describe(tensors, directory, model)).config;
  } finally {
    await tensors.close();
  }
}

/**
 * Reads a low-rank adapter in PEFT's layout (`adapter_config.json`, `adapter_model.safetensors`) for a model of the
 * given shape. Names of tensors may have the prefix of PEFT (`base_model.model.`) or not. Modules of lower rank, and
 * layers that are not adapted, are filled with zeros.
 *
 * @throws HeddleError naming file and field or tensor: `not_found`, `invalid`, or `unsupported` for PEFT methods other than
 *   LoRA.
 */
export async function readAdapter(directory: string, model: ModelConfig): Promise<Adapter> {
  const tensors = await openTensors(directory, "adapter_model");
  try {
    const { config, located: all } = await locate(tensors, directory, model);
    const set = parameterSet(adapterParameters(model, config));
    for (const { location, file, factor } of all) {
      const whole = await tensors.read(location.tensor);
      if (!allFinite(whole)) throw tensors.error(location.tensor, "has numbers that are not finite");
      const values = blockOf(whole, file, location.shape);
      const view = set.views.get(location.parameter)!;
      if (factor === 1) storeTensor(location, values, view);
      else
        storeTensor(
          location,
          values.map((value) => value * factor),
          view,
        );
    }
    return { config, set };
  } finally {
    await tensors.close();
  }
}

/** Reads the shape of an adapter as `readAdapter` does, with the same checks but for those of the numbers. */
export async function checkAdapter(directory: string, model: ModelConfig): Promise<LoraConfig> {
  const tensors = await openTensors(directory, "adapter_model");
  try {
    return (await locate(tensors, directory, model)).config;
  } finally {
    await tensors.close();
  }
}

/** Finds the factors of an adapter in its file, and checks their shapes. */
async function locate(
  tensors: Tensors,
  directory: string,
  model: ModelConfig,
): Promise<{ config: LoraConfig; located: ReturnType<typeof moduleFactors> }> {
  const { config, modules, factors, names } = await describe(tensors, directory, model);
  const known = new Set(modules.map(({ path }) => path));
  const foreign = factors.find(({ path }) => !known.has(path));
  if (foreign) throw tensors.error(foreign.tensor, "is not part of this adapter");
  const located = modules.flatMap((module) => moduleFactors(model, config, module, names));
  for (const { location, file } of located) tensors.require(location.tensor, file.shape);
  return { config, located };
}

/** Reads the configuration of an adapter, and the names of its factors. */
async function describe(tensors: Tensors, directory: string, model: ModelConfig) {
  const factors = namedFactors(tensors);
  const stored = new Set(factors.map(({ path }) => path));
  const names = new Map(factors.map(({ path, factor, tensor }) => [`${path}.${factor}`, tensor]));
  const isStacked = async ({ path, rank }: { path: string; rank: number }) => {
    const tensor = names.get(`${path}.b`);
    const parts = modulesOf(model).filter((each) => each.path === path);
    const [{ allRows } = { allRows: 0 }] = parts;
    if (tensor === undefined) return false;
    tensors.require(tensor, [allRows, rank]);
    return isBlockDiagonal(await tensors.read(tensor), rank, parts);
  };
  const description = await readAdapterDescription(directory, model, async () => stored, isStacked);
  return { ...description, factors, names };
}

/** Returns whether the rows of each part have numbers in columns of their own only. */
function isBlockDiagonal(matrix: Float32Array, columns: number, parts: readonly ProjectionRows[]): boolean {
  const width = columns / parts.length;
  return parts.every(({ firstRow, rows, part }) => {
    for (let row = firstRow; row < firstRow + rows; row++) {
      for (let column = 0; column < columns; column++) {
        if (Math.floor(column / width) !== part && matrix[row * columns + column] !== 0) return false;
      }
    }
    return true;
  });
}

/**
 * Writes an adapter in PEFT's layout into a directory, which is created if it does not exist.
 *
 * @param baseModel value of `base_model_name_or_path`.
 */
export async function writeAdapter(
  directory: string,
  { config, set }: Adapter,
  { model, baseModel, dtype = "F32" }: { model: ModelConfig; baseModel: string; dtype?: Exclude<WeightFormat, "F16"> },
): Promise<Map<string, WrittenFile>> {
  await mkdir(directory, { recursive: true });
  const json = `${JSON.stringify(adapterConfigJson(config, { model, baseModel }), null, 2)}\n`;
  const sources = writtenTensors(model, config).map(({ name, shape, blocks }) => ({
    name,
    shape,
    values: () => {
      const values = blocks.map(({ location }) => tensorValues(location, set.views.get(location.parameter)!));
      return blocks.length === 1 ? values[0]! : joinBlocks(shape, blocks, values);
    },
  }));
  return new Map([
    ["adapter_config.json", await writeDurableFile(join(directory, "adapter_config.json"), json)],
    ["adapter_model.safetensors", await writeSafetensors(join(directory, "adapter_model.safetensors"), sources, dtype)],
  ]);
}

interface NamedFactor {
  /** Name in the file. */
  tensor: string;
  /** Path of the module in the base model. */
  path: string;
  factor: "a" | "b";
}

const factorName =
  /^(?:base_model\.model\.)?(?:model\.)?(?:language_model\.)?(layers\.\d+\.\w+\.\w+)\.lora_([AB])(?:\.default)?\.weight$/u;

/** Returns the tensors of a file. Throws `invalid` for a name that is not one of a factor, or that two tensors have. */
function namedFactors(tensors: Tensors): NamedFactor[] {
  const seen = new Set<string>();
  return Array.from(tensors.names(), (tensor) => {
    const [, module, letter] = factorName.exec(tensor) ?? [];
    if (module === undefined) throw tensors.error(tensor, otherTensor(tensor));
    const path = `model.${module}`;
    const factor = letter === "A" ? "a" : "b";
    if (seen.has(path + factor)) throw tensors.error(tensor, "is in the file under two names");
    seen.add(path + factor);
    return { tensor, path, factor };
  });
}

/** PEFT writes the embeddings of an adapter whose vocabulary was changed. */
function otherTensor(tensor: string): string {
  return /(?:^|\.)(?:embed_tokens|lm_head)\.weight$/u.test(tensor)
    ? "is an embedding of the whole vocabulary; an adapter for another vocabulary than the base model's cannot be used"
    : "is not part of this adapter";
}

/** The matrix of a file that a factor is a block of, and where that begins. */
interface FileMatrix {
  shape: [rows: number, columns: number];
  row: number;
  column: number;
}

/** Returns the block [rows, columns] of a matrix. */
function blockOf(values: Float32Array, { shape, row, column }: FileMatrix, block: readonly number[]): Float32Array {
  const [rows = 0, columns = 0] = block;
  if (rows === shape[0] && columns === shape[1]) return values;
  const into = new Float32Array(rows * columns);
  for (let at = 0; at < rows; at++) {
    const from = (row + at) * shape[1] + column;
    into.set(values.subarray(from, from + columns), at * columns);
  }
  return into;
}

function joinBlocks(
  [rows, columns]: FileMatrix["shape"],
  blocks: readonly { location: TensorLocation; file: FileMatrix }[],
  values: readonly Float32Array[],
): Float32Array {
  const into = new Float32Array(rows * columns);
  blocks.forEach(({ location, file }, index) => {
    const [blockRows = 0, width = 0] = location.shape;
    for (let at = 0; at < blockRows; at++) {
      into.set(values[index]!.subarray(at * width, (at + 1) * width), (file.row + at) * columns + file.column);
    }
  });
  return into;
}

/**
 * Returns where the factors of a module are in the file and in the parameters: the first columns of `a` and rows of
 * `b`. The file has A as [rank, inputs] and B as [outputs, rank], the transposes of the parameters. `factor`: what the
 * numbers are multiplied by, because the scale of the adapter is not that of the module.
 *
 * Projections that share a matrix have rows of its B each. Of its A they have rows each if it is stacked, else all of it.
 */
function moduleFactors(
  model: ModelConfig,
  config: LoraConfig,
  { layer, target, path, rank, scale, isStacked, part, parts, firstRow, allRows }: AdaptedModule,
  names?: ReadonlyMap<string, string>,
): { location: TensorLocation; file: FileMatrix; factor: number }[] {
  const [inputs, outputs] = projectionShape(model, target);
  const written = `base_model.model.${path}`;
  const location = (factor: "a" | "b", shape: number[], columns: number): TensorLocation => ({
    tensor: names?.get(`${path}.${factor}`) ?? `${written}.lora_${factor.toUpperCase()}.weight`,
    shape,
    parameter: `layers.${layer}.${target}.${factor}`,
    projection: { column: 0, columns },
  });
  const common = config.alpha / config.rank;
  const whole = isStacked ? parts * rank : rank;
  const start = isStacked ? part * rank : 0;
  return [
    {
      location: location("a", [rank, inputs], config.rank),
      file: { shape: [whole, inputs], row: start, column: 0 },
      factor: 1,
    },
    {
      location: location("b", [outputs, rank], outputs),
      file: { shape: [allRows, whole], row: firstRow, column: start },
      factor: scale === common ? 1 : scale / common,
    },
  ];
}

/** Returns the tensors of the file of an adapter, each with the factors that are blocks of it. */
function writtenTensors(model: ModelConfig, config: LoraConfig) {
  const { rank, alpha, targets } = config;
  const modules = modulesOf(model).filter(({ target }) => targets.includes(target));
  const blocks = modules.flatMap((module) =>
    moduleFactors(model, config, { ...module, rank, scale: alpha / rank, isStacked: module.parts > 1 }),
  );
  const names = [...new Set(blocks.map(({ location }) => location.tensor))];
  return names.map((name) => {
    const own = blocks.filter(({ location }) => location.tensor === name);
    return { name, shape: own[0]!.file.shape, blocks: own };
  });
}
