import type { Tensor } from "../session.js";
import { tensor } from "../session.js";
import type { LayerKind } from "../model/config.js";
import { firstVisible, layerKindsOf, rotaryWidth } from "../model/layer-kinds.js";
import { isLongText } from "../model/long-texts.js";
import { kindInput } from "./kind-inputs.js";
import type { KeyValueCache } from "./key-value-cache.js";
import { appendFresh, copyRow, createCache, roundCapacity, roundRows } from "./key-value-cache.js";
import type { PreparedWeights } from "./prepared-weights.js";
import { isFew } from "./prepared-weights.js";
import type { CacheRow } from "./prompt-blocks.js";
import type { RotaryRows } from "./rotary-rows.js";
import { rotaryRows } from "./rotary-rows.js";

type ModelOutput = "logits" | "probabilities";

/** Rows on the same weights that are decoded in the same steps. Slots are numbers below `rows`; some may be empty. */
export interface DecodeBatch {
  readonly rows: number;
  /**
   * Copies the first `length` positions of the first row of a cache into a new row and returns its slot. Other rows
   * keep their slots. `expectedRows`: how many further rows will follow, so that capacity for all is allocated at once.
   */
  add(from: KeyValueCache, length: number, expectedRows?: number): number;
  /** Copies the row in `slot` and returns the slot of the copy. */
  fork(slot: number): number;
  /** Removes a row. `wipe` zeroes its cache, which may contain NaN that a later row in the slot must not read. */
  remove(slot: number, options?: { wipe?: boolean }): void;
  /** Releases capacity when many slots are empty. Returns the new slot of every row if rows moved. */
  trim(): ReadonlyMap<number, number> | undefined;
  /** Returns the keys and values of a row, which the next call changes. */
  row(slot: number): CacheRow & { length: number };
  setToken(slot: number, token: number): void;
  /** Appends each slot's token to its row and predicts the next token. Output rows are ordered by slot. */
  step(outputNames: readonly ModelOutput[]): Promise<void>;
  /** Returns an output of the last step that requested it, [rows, vocabularySize]. */
  output(name: ModelOutput): Float32Array;
}

const maskedScore = -1e30;

/** What a row attends to in layers of a kind, and how these turn its token. */
interface KindBuffers {
  kind: LayerKind;
  mask: Float32Array;
  rotary: RotaryRows;
}

/** Buffers whose sizes depend on the number of rows and positions. */
interface Layout {
  cache: KeyValueCache;
  /** Number of used positions per slot; 0 for an empty slot. */
  lengths: Int32Array;
  occupied: Uint8Array;
  tokens: Int32Array;
  kinds: KindBuffers[];
  feeds: Record<string, Tensor>;
  fresh: Tensor<"float32">;
  /** States of layers of linear attention after a step. */
  next: Tensor<"float32">[];
  /** Allocated when first requested: a row is as long as the vocabulary. */
  outputs: Partial<Record<ModelOutput, Tensor<"float32">>>;
}

export function createDecodeBatch(weights: PreparedWeights): DecodeBatch {
  const { config } = weights;
  let layout = createLayout(weights, 1, roundCapacity(1));

  /** Replaces the layout by one whose slot i contains the row of slot `sources[i]`. */
  const rebuild = (rows: number, capacity: number, sources: readonly number[]) => {
    const before = layout;
    layout = createLayout(weights, rows, capacity);
    sources.forEach((source, slot) => {
      if (!before.occupied[source]) return;
      const length = before.lengths[source]!;
      copyRow(config, before.cache, source, layout.cache, slot, length);
      occupy(layout, slot, length);
      layout.tokens[slot] = before.tokens[source]!;
    });
  };
  const everySlot = () => Array.from(layout.occupied, (_, slot) => slot);
  const freeSlot = (positions: number, expectedRows = 0): number => {
    const free = layout.occupied.indexOf(0);
    const { rows, capacity } = layout.cache;
    const needed = Math.max(capacity, roundCapacity(positions));
    const newRows = free < 0 ? roundRows(rows + 1 + expectedRows) : rows;
    if (newRows > rows || needed > capacity) rebuild(newRows, needed, everySlot());
    return free < 0 ? rows : free;
  };
  const outputOf = (name: ModelOutput) =>
    (layout.outputs[name] ??= emptyTensor([layout.cache.rows, config.vocabularySize]));

  return {
    get rows() {
      return layout.cache.rows;
    },
    add(from, length, expectedRows) {
      const slot = freeSlot(length + 1, expectedRows);
      copyRow(config, from, 0, layout.cache, slot, length);
      occupy(layout, slot, length);
      return slot;
    },
    fork(slot) {
      const length = layout.lengths[slot]!;
      const copy = freeSlot(length + 1);
      copyRow(config, layout.cache, slot, layout.cache, copy, length);
      occupy(layout, copy, length);
      return copy;
    },
    remove(slot, { wipe = false } = {}) {
      vacate(layout, slot);
      if (wipe) wipeRow(layout.cache, slot);
    },
    trim() {
      const remaining = everySlot().filter((slot) => layout.occupied[slot]);
      const rows = roundRows(Math.max(1, remaining.length));
      if (remaining.length === 0 || rows === layout.cache.rows) return undefined;
      const longest = Math.max(...remaining.map((slot) => layout.lengths[slot]!));
      rebuild(rows, roundCapacity(longest + 1), remaining);
      return new Map(remaining.map((from, to) => [from, to]));
    },
    row: (slot) => ({ cache: layout.cache, row: slot, length: layout.lengths[slot]! }),
    setToken(slot, token) {
      layout.tokens[slot] = token;
    },
    async step(outputNames) {
      const longest = Math.max(...layout.lengths);
      if (longest >= layout.cache.capacity) rebuild(layout.cache.rows, 2 * layout.cache.capacity, everySlot());
      const { cache, lengths, kinds, feeds, fresh } = layout;
      for (let row = 0; row < cache.rows; row++) {
        const isLong = isLongText(config, lengths[row]! + 1);
        for (const { rotary } of kinds) rotary.fill(row, lengths[row]!, isLong);
      }
      const fetches: Record<string, Tensor> = { fresh };
      for (const name of outputNames) fetches[name] = outputOf(name);
      layout.next.forEach((state, at) => (fetches[`next.${at}`] = state));
      const { session, few } = weights.decode;
      await ((isFew(cache.rows) && few) || session).run(feeds, fetches);
      appendFresh(config, cache, fresh.data, lengths);
      cache.states.forEach((state, at) => state.set(layout.next[at]!.data));
      for (let row = 0; row < cache.rows; row++) {
        if (!layout.occupied[row]) continue;
        const position = lengths[row]!++;
        for (const { kind, mask } of kinds) {
          const at = row * (cache.capacity + 1);
          mask[at + position] = 0;
          const first = firstVisible(kind, position + 1);
          if (first > 0) mask[at + first - 1] = maskedScore;
        }
      }
    },
    output: (name) => outputOf(name).data,
  };
}

function createLayout({ config, decode }: PreparedWeights, rows: number, capacity: number): Layout {
  const { keyValueHeads, headSize } = config;
  const cache = createCache(config, rows, capacity);
  const tokens = new Int32Array(rows);
  const kinds = layerKindsOf(config).kinds.map((kind): KindBuffers => {
    const mask = new Float32Array(rows * (capacity + 1)).fill(maskedScore);
    for (let row = 1; row <= rows; row++) mask[row * (capacity + 1) - 1] = 0;
    return { kind, mask, rotary: rotaryRows(config, rows, kind) };
  });
  const angles = (data: Float32Array) => tensor("float32", data, [rows, rotaryWidth(config) / 2]);
  const past = [rows, keyValueHeads, capacity, headSize];
  return {
    cache,
    lengths: new Int32Array(rows),
    occupied: new Uint8Array(rows),
    tokens,
    kinds,
    feeds: {
      ...decode.weights,
      tokens: tensor("int32", tokens, [rows]),
      rows: tensor(
        "int64",
        BigInt64Array.from({ length: rows }, (_, row) => BigInt(row)),
        [rows, 1],
      ),
      ...Object.fromEntries(
        kinds.flatMap(({ mask, rotary }, index) => [
          [kindInput("cos", index), angles(rotary.cos)],
          [kindInput("sin", index), angles(rotary.sin)],
          [kindInput("query_cos", index), angles(rotary.queryCos)],
          [kindInput("query_sin", index), angles(rotary.querySin)],
          [kindInput("mask", index), tensor("float32", mask, [rows, 1, 1, capacity + 1])],
        ]),
      ),
      ...Object.fromEntries(cache.keys.map((keys, layer) => [`keys.${layer}`, tensor("float32", keys, past)])),
      ...Object.fromEntries(cache.values.map((values, layer) => [`values.${layer}`, tensor("float32", values, past)])),
      ...Object.fromEntries(cache.states.map((state, at) => [`state.${at}`, stateTensor(state, rows)])),
    },
    fresh: emptyTensor([rows, keyValueHeads, 2 * cache.keys.length, headSize]),
    next: cache.states.map((state) => stateTensor(new Float32Array(state.length), rows)),
    outputs: {},
  };
}

function stateTensor(state: Float32Array, rows: number): Tensor<"float32"> {
  return tensor("float32", state, [rows, state.length / rows]);
}

function emptyTensor(dims: number[]): Tensor<"float32"> {
  return tensor("float32", new Float32Array(dims.reduce((product, each) => product * each, 1)), dims);
}

function occupy({ occupied, lengths, kinds, cache }: Layout, slot: number, length: number): void {
  occupied[slot] = 1;
  lengths[slot] = length;
  const at = slot * (cache.capacity + 1);
  for (const { kind, mask } of kinds) mask.fill(0, at + firstVisible(kind, length), at + length);
}

/** Empties a slot; it attends to its own token only. */
function vacate({ occupied, lengths, tokens, kinds, cache }: Layout, slot: number): void {
  occupied[slot] = 0;
  lengths[slot] = 0;
  tokens[slot] = 0;
  const at = slot * (cache.capacity + 1);
  for (const { mask } of kinds) mask.fill(maskedScore, at, at + cache.capacity);
}

/** Zeroes a row of the cache: an attention weight of zero does not mask NaN. */
function wipeRow({ rows, keys, values, states }: KeyValueCache, row: number): void {
  for (const array of [...keys, ...values, ...states]) {
    const size = array.length / rows;
    array.fill(0, row * size, (row + 1) * size);
  }
}
