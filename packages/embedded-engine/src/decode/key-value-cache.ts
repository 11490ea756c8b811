import type { ModelConfig } from "../model/config.js";

/**
 * Keys and values of `rows` sequences with capacity for `capacity` positions each; per layer [rows, keyValueHeads,
 * capacity, headSize].
 */
export interface KeyValueCache {
  readonly rows: number;
  readonly capacity: number;
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
}

export function createCache(
  { layers, keyValueHeads, headSize }: ModelConfig,
  rows: number,
  capacity: number,
): KeyValueCache {
  const arrays = () =>
    Array.from({ length: layers }, () => new Float32Array(rows * keyValueHeads * capacity * headSize));
  return { rows, capacity, keys: arrays(), values: arrays() };
}

export function cacheBytes({ layers, keyValueHeads, headSize }: ModelConfig, rows: number, capacity: number): number {
  return 2 * 4 * layers * rows * keyValueHeads * capacity * headSize;
}

/** Rounds a number of positions up to a power of two, so that few shapes occur and reallocation is rare. */
export function roundCapacity(positions: number): number {
  return Math.max(minCapacity, roundRows(positions));
}

export function roundRows(rows: number): number {
  return 2 ** Math.ceil(Math.log2(rows));
}

const minCapacity = 32;

/** Copies the first `length` positions of a row, between caches of the same model or within one cache. */
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
}

/**
 * Writes the output of a decode step, [rows, keyValueHeads, 2 * layers, headSize] with the key and value of a layer
 * next to each other, at position `lengths[row]` of each row.
 */
export function appendFresh(
  { layers, keyValueHeads, headSize }: ModelConfig,
  { rows, capacity, keys, values }: KeyValueCache,
  fresh: Float32Array,
  lengths: Int32Array,
): void {
  const heads = rows * keyValueHeads;
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
