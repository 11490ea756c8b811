import type { ModelConfig } from "../model/config.js";
import type { KeyValueCache } from "./key-value-cache.js";

/** A row of a cache. */
export interface CacheRow {
  cache: KeyValueCache;
  row: number;
}

/** Positions of a row, `count` from `start`. */
export interface Positions {
  start: number;
  count: number;
}

/** Returns the keys and values of some positions, [2 * layers, keyValueHeads, count, headSize]. */
export function readBlock(config: ModelConfig, from: CacheRow, positions: Positions): Float32Array {
  const block = new Float32Array(2 * config.layers * config.keyValueHeads * positions.count * config.headSize);
  eachPart(config, from, positions, (array, at, length, inBlock) =>
    block.set(array.subarray(at, at + length), inBlock),
  );
  return block;
}

/** Writes what `readBlock` returned to the same positions of another row. */
export function writeBlock(config: ModelConfig, block: Float32Array, to: CacheRow, positions: Positions): void {
  eachPart(config, to, positions, (array, at, length, inBlock) =>
    array.set(block.subarray(inBlock, inBlock + length), at),
  );
}

function eachPart(
  { keyValueHeads, headSize }: ModelConfig,
  { cache, row }: CacheRow,
  { start, count }: Positions,
  visit: (array: Float32Array, at: number, length: number, inBlock: number) => void,
): void {
  const length = count * headSize;
  let inBlock = 0;
  const visitArray = (array: Float32Array) => {
    for (let head = 0; head < keyValueHeads; head++) {
      visit(array, ((row * keyValueHeads + head) * cache.capacity + start) * headSize, length, inBlock);
      inBlock += length;
    }
  };
  cache.keys.forEach((keys, layer) => {
    visitArray(keys);
    visitArray(cache.values[layer]!);
  });
}
