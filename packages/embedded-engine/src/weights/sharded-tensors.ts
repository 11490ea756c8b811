import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { HeddleError } from "@heddle/errors";
import { formatValue } from "./config-fields.js";
import { isJsonObject } from "@heddle/exact-json";
import { ifExists, readJsonFile } from "@heddle/durable-files";
import type { SafetensorsFile } from "./safetensors.js";
import { openSafetensors } from "./safetensors.js";
import type { TensorInfo } from "./safetensors-header.js";
import { tensorError } from "./safetensors-header.js";

/** The tensors of a model, in one file or in shards. */
export interface Tensors {
  names(): Iterable<string>;
  /** Throws `invalid`, naming file and tensor, when it is missing or has another shape. */
  require(name: string, shape: number[]): void;
  read(name: string, into?: Float32Array): Promise<Float32Array>;
  /** Shape and type of a tensor that there is. */
  infoOf(name: string): Pick<TensorInfo, "shape" | "dtype"> | undefined;
  /** Reads a tensor of bytes. Throws `invalid` for another type. */
  readBytes(name: string): Promise<Uint8Array>;
  error(name: string, what: string): HeddleError;
  close(): Promise<void>;
}

const maxIndexBytes = 2 ** 24;
const maxShards = 1000;

/**
 * Opens `<stem>.safetensors` of a directory or, if it is missing, the shards listed in `<stem>.safetensors.index.json`.
 *
 * @throws HeddleError `not_found` without either, `invalid` for an invalid file or an index that does not match the shards.
 */
export async function openTensors(directory: string, stem: string): Promise<Tensors> {
  const name = await findTensors(directory, stem);
  if (name.endsWith(".json")) return openShards(directory, name);
  const file = await openSafetensors(join(directory, name));
  return collect([file], new Map([...file.tensors.keys()].map((tensor) => [tensor, file])), name);
}

/** Returns the name of the file or index that `openTensors` would open. Throws `not_found` without either. */
export async function findTensors(directory: string, stem: string): Promise<string> {
  const single = `${stem}.safetensors`;
  const index = `${single}.index.json`;
  for (const name of [single, index]) {
    if (await ifExists(stat(join(directory, name)))) return name;
  }
  throw new HeddleError("not_found", `there is neither ${single} nor ${index}`, { details: { file: single } });
}

/** Returns the names of the files that `openTensors` would read tensors from, in alphabetical order. */
export async function tensorFiles(directory: string, stem: string): Promise<string[]> {
  const name = await findTensors(directory, stem);
  if (!name.endsWith(".json")) return [name];
  return [...new Set((await readShardIndex(directory, name)).values())].toSorted();
}

/** Returns the file of each tensor of an index. */
async function readShardIndex(directory: string, index: string): Promise<Map<string, string>> {
  const weightMap = (await readJsonFile(directory, index, maxIndexBytes))["weight_map"];
  if (!isJsonObject(weightMap)) {
    const details = { file: index, field: "weight_map" };
    throw new HeddleError("invalid", `${index}: weight_map is missing`, { details });
  }
  const shardOfTensor = new Map<string, string>();
  for (const [tensor, shard] of Object.entries(weightMap)) {
    if (typeof shard !== "string" || !isShardName(shard)) {
      throw tensorError(
        index,
        tensor,
        `is listed in ${formatValue(shard)}, which is not a file name of this directory`,
      );
    }
    shardOfTensor.set(tensor, shard);
  }
  if (new Set(shardOfTensor.values()).size > maxShards) {
    throw new HeddleError("invalid", `${index} names over ${maxShards} files`, { details: { file: index } });
  }
  return shardOfTensor;
}

async function openShards(directory: string, index: string): Promise<Tensors> {
  const shardOfTensor = await readShardIndex(directory, index);
  const files = new Map<string, SafetensorsFile>();
  const fileOfTensor = new Map<string, SafetensorsFile>();
  try {
    for (const [tensor, shard] of shardOfTensor) {
      if (!files.has(shard)) files.set(shard, await openSafetensors(join(directory, shard)));
      const file = files.get(shard)!;
      if (!file.tensors.has(tensor)) throw tensorError(shard, tensor, `is missing, but ${index} lists it`);
      fileOfTensor.set(tensor, file);
    }
    for (const file of files.values()) {
      const unlisted = [...file.tensors.keys()].find((name) => fileOfTensor.get(name) !== file);
      if (unlisted !== undefined) throw tensorError(file.file, unlisted, `is not listed in ${index}`);
    }
    return collect([...files.values()], fileOfTensor, index);
  } catch (error) {
    await Promise.all([...files.values()].map((file) => file.close()));
    throw error;
  }
}

function collect(files: SafetensorsFile[], fileOfTensor: Map<string, SafetensorsFile>, source: string): Tensors {
  const error = (name: string, what: string) => tensorError(fileOfTensor.get(name)?.file ?? source, name, what);
  return {
    names: () => fileOfTensor.keys(),
    error,
    require(name, shape) {
      const info = fileOfTensor.get(name)?.tensors.get(name);
      if (!info) throw error(name, "is missing");
      if (info.shape.length !== shape.length || info.shape.some((length, at) => length !== shape[at])) {
        throw error(name, `has the shape ${formatValue(info.shape)}; the configuration requires ${formatValue(shape)}`);
      }
    },
    async read(name, into) {
      const file = fileOfTensor.get(name);
      if (!file) throw error(name, "is missing");
      return file.read(name, into);
    },
    infoOf: (name) => fileOfTensor.get(name)?.tensors.get(name),
    async readBytes(name) {
      const file = fileOfTensor.get(name);
      if (!file) throw error(name, "is missing");
      return file.readBytes(name);
    },
    async close() {
      await Promise.all(files.map((file) => file.close()));
    },
  };
}

/** Returns whether a name cannot refer to a file outside the directory, on any system. */
function isShardName(name: string): boolean {
  return name.length <= 255 && /^[\w.-]+\.safetensors$/u.test(name) && !name.startsWith(".") && basename(name) === name;
}
