import type { ModelConfig } from "../../model/config.js";

/** Keys and values of `rows` sequences with room for `capacity` positions each; per layer [rows, keyValueHeads, capacity, headSize]. */
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

/** Positions are given out in powers of two, so that few shapes occur and growing is rare. */
export function roundCapacity(positions: number): number {
  return Math.max(smallestCapacity, roundRows(positions));
}

export function roundRows(rows: number): number {
  return 2 ** Math.ceil(Math.log2(rows));
}

const smallestCapacity = 32;

/** Copies the first `length` positions of a row, between caches of the same model or within one. */
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
 * Writes what a decode step returns, [rows, keyValueHeads, 2 * layers, headSize] with key and value of a layer side by side,
 * at position `lengths[row]` of each row.
 */
export function appendFresh(
  { layers, keyValueHeads, headSize }: ModelConfig,
  cache: KeyValueCache,
  fresh: Float32Array,
  lengths: Int32Array,
): void {
  for (let layer = 0; layer < layers; layer++) {
    scatter(fresh, 2 * layer, cache.keys[layer]!, { ...cache, layers, keyValueHeads, headSize }, lengths);
    scatter(fresh, 2 * layer + 1, cache.values[layer]!, { ...cache, layers, keyValueHeads, headSize }, lengths);
  }
}

interface ScatterShape {
  rows: number;
  capacity: number;
  layers: number;
  keyValueHeads: number;
  headSize: number;
}

function scatter(
  fresh: Float32Array,
  part: number,
  target: Float32Array,
  { rows, capacity, layers, keyValueHeads, headSize }: ScatterShape,
  lengths: Int32Array,
): void {
  for (let row = 0; row < rows; row++) {
    const position = lengths[row]!;
    for (let head = row * keyValueHeads; head < (row + 1) * keyValueHeads; head++) {
      const from = (head * 2 * layers + part) * headSize;
      const to = (head * capacity + position) * headSize;
      for (let i = 0; i < headSize; i++) target[to + i] = fresh[from + i]!;
    }
  }
}
