import type { ModelConfig } from "../model/config.js";
import { layersByMemory, linearStateSize } from "../model/layer-kinds.js";

/**
 * What is kept of `rows` sequences: keys and values with capacity for `capacity` positions each, per layer of attention [rows,
 * keyValueHeads, capacity, headSize], and per layer of linear attention a state [rows, size], which is that of the last position.
 */
export interface KeyValueCache {
  readonly rows: number;
  readonly capacity: number;
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
  readonly states: readonly Float32Array[];
}

export function createCache(config: ModelConfig, rows: number, capacity: number): KeyValueCache {
  const { keyValueHeads, headSize } = config;
  const { attention, linear } = layersByMemory(config);
  const arrays = () => attention.map(() => new Float32Array(rows * keyValueHeads * capacity * headSize));
  const states = linear.map(() => new Float32Array(rows * linearStateSize(config)));
  return { rows, capacity, keys: arrays(), values: arrays(), states };
}

export function cacheBytes(config: ModelConfig, rows: number, capacity: number): number {
  const { keyValueHeads, headSize } = config;
  const { attention, linear } = layersByMemory(config);
  const states = linear.length === 0 ? 0 : linear.length * linearStateSize(config);
  return 4 * rows * (2 * attention.length * keyValueHeads * capacity * headSize + states);
}

/** Rounds a number of positions up to a power of two, so that few shapes occur and reallocation is rare. */
export function roundCapacity(positions: number): number {
  return Math.max(minCapacity, roundRows(positions));
}

export function roundRows(rows: number): number {
  return 2 ** Math.ceil(Math.log2(rows));
}

const minCapacity = 32;

/** Copies the first `length` positions of a row, and its states, between caches of the same model or within one cache. */
export function copyRow(
  { keyValueHeads, headSize }: ModelConfig,
  from: KeyValueCache,
  fromRow: number,
  to: KeyValueCache,
  toRow: number,
  length: number,
): void {
  const copy = (source: Float32Array, target: Float32Array) => {
    for (let head = 0; head < keyValueHeads; head++) {
      const start = (fromRow * keyValueHeads + head) * from.capacity * headSize;
      const at = (toRow * keyValueHeads + head) * to.capacity * headSize;
      target.set(source.subarray(start, start + length * headSize), at);
    }
  };
  from.keys.forEach((source, layer) => copy(source, to.keys[layer]!));
  from.values.forEach((source, layer) => copy(source, to.values[layer]!));
  from.states.forEach((source, layer) => {
    const size = source.length / from.rows;
    to.states[layer]!.set(source.subarray(fromRow * size, (fromRow + 1) * size), toRow * size);
  });
}

/**
 * Writes the output of a decode step, [rows, keyValueHeads, 2 * layers of attention, headSize] with the key and value of a
 * layer next to each other, at position `lengths[row]` of each row.
 */
export function appendFresh(
  { keyValueHeads, headSize }: ModelConfig,
  { rows, capacity, keys, values }: KeyValueCache,
  fresh: Float32Array,
  lengths: Int32Array,
): void {
  const heads = rows * keyValueHeads;
  const layers = keys.length;
  for (let head = 0; head < heads; head++) {
    const to = (head * capacity + lengths[Math.floor(head / keyValueHeads)]!) * headSize;
    let from = head * 2 * layers * headSize;
    for (let layer = 0; layer < layers; layer++) {
      copyVector(fresh, from, keys[layer]!, to, headSize);
      copyVector(fresh, from + headSize, values[layer]!, to, headSize);
      from += 2 * headSize;
    }
  }
}

/** A loop: for so few numbers, the views that `set` needs cost more than the copy. */
function copyVector(source: Float32Array, from: number, target: Float32Array, to: number, size: number): void {
  for (let i = 0; i < size; i++) target[to + i] = source[from + i]!;
}
