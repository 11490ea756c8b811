import type { TokenLogprob } from "@heddle/training";
import { rawDistribution } from "../sampling/raw-distribution.js";
import type { Tensor } from "../session.js";
import { tensor } from "../session.js";
import type { ModelConfig } from "../model/config.js";
import { firstVisible, layerKindsOf, rotaryWidth } from "../model/layer-kinds.js";
import { isLongText } from "../model/long-texts.js";
import { kindInput } from "./kind-inputs.js";
import type { KeyValueCache } from "./key-value-cache.js";
import { copyRow, createCache, roundCapacity, roundRows } from "./key-value-cache.js";
import type { PreparedWeights } from "./prepared-weights.js";
import { rotaryRows } from "./rotary-rows.js";

/** A prefilled prompt, from which completions start. */
export interface PrefilledPrompt {
  cache: KeyValueCache;
  length: number;
  /** Logits of the token after the prompt. */
  logits: Float32Array;
  probabilities: Float32Array;
  logprobs?: PromptLogprobs;
}

/** The beginning of a prompt that was read before. */
export type PromptStart = Pick<PrefilledPrompt, "cache" | "length">;

type PromptLogprobs = ((TokenLogprob[] & { 0: TokenLogprob }) | null)[];

/** Prefills a prompt in chunks, so that other requests can be decoded in between. */
export interface PromptReader {
  /** Prefills the next chunk. Returns the prompt after the last one. */
  next(): Promise<PrefilledPrompt | undefined>;
}

/** Maximum number of prompt tokens per chunk. */
export const chunkTokens = 256;
const minChunkTokens = 16;
/** Maximum number of attention scores of a layer of a chunk, unless its length is the least: long contexts are read in shorter chunks. */
const maxScores = 2 ** 24;
/** Maximum number of log-probabilities that are read between two steps of other requests. */
const maxScored = 2 ** 18;
/** Maximum number of logits of a chunk whose log-probabilities are requested. */
const maxLogits = 2 ** 24;
const maskedScore = -1e30;

/**
 * Creates a reader of a prompt. `alternatives` per prompt token, -1 for the complete vocabulary; absent: the
 * log-probabilities of the prompt are not computed. `from`: its beginning, as a reader of it left it; not where
 * log-probabilities are requested.
 */
export function createPromptReader(
  weights: PreparedWeights,
  prompt: Int32Array,
  { alternatives, from }: { alternatives?: number | undefined; from?: PromptStart | undefined } = {},
): PromptReader {
  const { config } = weights;
  const scored = alternatives !== undefined;
  const scoredTokens = scored ? Math.floor(maxLogits / config.vocabularySize) : chunkTokens;
  const maxChunk = Math.min(
    chunkTokens,
    Math.max(minChunkTokens, 2 ** Math.floor(Math.log2(Math.max(1, scoredTokens)))),
  );
  let { cache, length } = from ?? { cache: createCache(config, 1, roundCapacity(1)), length: 0 };
  const isLong = isLongText(config, prompt.length);
  const logprobs: PromptLogprobs = [null];
  /** The last chunk, while log-probabilities of it are not read. */
  let scoring: { logits: Float32Array; start: number } | undefined;
  let last: Pick<PrefilledPrompt, "logits" | "probabilities"> | undefined;

  const score = () => {
    if (!scoring) return;
    const { logits, start } = scoring;
    const end = Math.min(length, prompt.length - 1);
    const perToken = alternatives === -1 ? config.vocabularySize : 1;
    for (let read = 0; logprobs.length <= end && read < maxScored; read += perToken) {
      const token = prompt[logprobs.length]!;
      const offset = (logprobs.length - 1 - start) * config.vocabularySize;
      logprobs.push(scoreToken(logits, offset, token, config.vocabularySize, alternatives ?? 0));
    }
    if (logprobs.length > end) scoring = undefined;
  };

  const finished = (): PrefilledPrompt | undefined =>
    last && !scoring ? { cache, length, ...last, logprobs: scored ? logprobs : undefined } : undefined;

  return {
    async next() {
      if (scoring) {
        score();
        return finished();
      }
      const count = Math.min(chunkAt(config, length, maxChunk), prompt.length - length);
      const selected = scored ? Array.from({ length: count }, (_, i) => i) : [count - 1];
      const chunk = { tokens: prompt.subarray(length, length + count), start: length, isLong };
      const { logits, probabilities, fresh, next, padded } = await runChunks(weights, cache, [chunk], selected);
      cache = withCapacity(weights, cache, length, length + count);
      cache.states.forEach((state, at) => state.set(next[at]!));
      writeChunk(weights, cache, fresh, { from: 0, start: length, count, padded });
      if (scored) scoring = { logits, start: length };
      length += count;
      const offset = (selected.length - 1) * config.vocabularySize;
      const row = (rows: Float32Array) => rows.slice(offset, offset + config.vocabularySize);
      if (length === prompt.length) last = { logits: row(logits), probabilities: row(probabilities) };
      score();
      return finished();
    },
  };
}

/** Returns the length of the next chunk, after `length` tokens: a power of two. */
function chunkAt({ heads }: ModelConfig, length: number, most: number): number {
  const tokens = maxScores / (heads * (roundCapacity(length) + most));
  return Math.min(most, Math.max(minChunkTokens, 2 ** Math.floor(Math.log2(Math.max(1, tokens)))));
}

/** Returns whether a prompt of this length is prefilled together with others. */
export function isShortPrompt({ length }: Int32Array): boolean {
  return length <= chunkTokens / 2;
}

/** Prefills short prompts, at most `chunkTokens` tokens in total, in one run that reads the weights once. */
export async function prefillShortPrompts(
  weights: PreparedWeights,
  prompts: readonly Int32Array[],
): Promise<PrefilledPrompt[]> {
  const { config } = weights;
  let end = 0;
  const ends = prompts.map(({ length }) => (end += length));
  const chunks = prompts.map((tokens) => ({ tokens, start: 0, isLong: isLongText(config, tokens.length) }));
  const emptyCache = createCache(config, 1, roundCapacity(1));
  const selected = ends.map((each) => each - 1);
  const { logits, probabilities, fresh, padded } = await runChunks(weights, emptyCache, chunks, selected);
  return prompts.map(({ length }, i) => {
    const cache = createCache(config, 1, roundCapacity(length));
    writeChunk(weights, cache, fresh, { from: ends[i]! - length, start: 0, count: length, padded });
    const row = (rows: Float32Array) => rows.slice(i * config.vocabularySize, (i + 1) * config.vocabularySize);
    return { cache, length, logits: row(logits), probabilities: row(probabilities) };
  });
}

interface PromptChunk {
  tokens: Int32Array;
  /** Position of its first token, which is also the number of cached positions it attends to. */
  start: number;
  /** Whether it is one of a long text; see `isLongText`. */
  isLong: boolean;
}

/** Runs prompt chunks in one pass. Each attends to itself and to the cached positions before it. */
async function runChunks(
  { config, prefill }: PreparedWeights,
  cache: KeyValueCache,
  chunks: readonly PromptChunk[],
  selected: readonly number[],
) {
  const { keyValueHeads, headSize, vocabularySize } = config;
  const total = chunks.reduce((sum, { tokens }) => sum + tokens.length, 0);
  // Padding would change the states of linear attention.
  const padded = cache.states.length > 0 ? total : Math.max(minChunkTokens, roundRows(total));
  const ids = new Int32Array(padded);
  const width = cache.capacity + padded;
  const kinds = layerKindsOf(config).kinds.map((kind) => ({
    kind,
    rotary: rotaryRows(config, padded, kind),
    mask: new Float32Array(padded * width).fill(maskedScore),
  }));
  let from = 0;
  for (const { tokens, start, isLong } of chunks) {
    ids.set(tokens, from);
    for (let i = 0; i < tokens.length; i++) {
      const row = (from + i) * width;
      for (const { kind, rotary, mask } of kinds) {
        const first = firstVisible(kind, start + i);
        rotary.fill(from + i, start + i, isLong);
        if (first < start) mask.fill(0, row + first, row + start);
        const own = row + cache.capacity + from;
        mask.fill(0, own + Math.max(0, first - start), own + i + 1);
      }
    }
    from += tokens.length;
  }
  const half = rotaryWidth(config) / 2;
  const rows = (data: Float32Array) => tensor("float32", data, [padded, half]);
  const past = [keyValueHeads, cache.capacity, headSize];
  const feeds = {
    ...prefill.weights,
    tokens: tensor("int32", ids, [padded]),
    start: tensor("int64", new BigInt64Array(1), [1]),
    ...Object.fromEntries(
      kinds.flatMap(({ rotary, mask }, index) => [
        [kindInput("cos", index), rows(rotary.cos)],
        [kindInput("sin", index), rows(rotary.sin)],
        [kindInput("query_cos", index), rows(rotary.queryCos)],
        [kindInput("query_sin", index), rows(rotary.querySin)],
        [kindInput("mask", index), tensor("float32", mask, [padded, width])],
      ]),
    ),
    selected: tensor("int32", Int32Array.from(selected), [selected.length]),
    ...Object.fromEntries(cache.keys.map((keys, layer) => [`keys.${layer}`, tensor("float32", keys, past)])),
    ...Object.fromEntries(cache.values.map((values, layer) => [`values.${layer}`, tensor("float32", values, past)])),
    ...Object.fromEntries(cache.states.map((state, at) => [`state.${at}`, tensor("float32", state, [state.length])])),
  };
  const output = (dims: number[]) =>
    tensor("float32", new Float32Array(dims.reduce((product, each) => product * each, 1)), dims);
  const results = await prefill.session.run(feeds, {
    logits: output([selected.length, vocabularySize]),
    probabilities: output([selected.length, vocabularySize]),
    fresh: output([2 * cache.keys.length, keyValueHeads, padded, headSize]),
    ...Object.fromEntries(cache.states.map((state, at) => [`next.${at}`, output([state.length])])),
  } as Record<string, Tensor>);
  const dataOf = (name: string) => results[name]!.data as Float32Array;
  const next = cache.states.map((_, at) => dataOf(`next.${at}`));
  return { logits: dataOf("logits"), probabilities: dataOf("probabilities"), fresh: dataOf("fresh"), next, padded };
}

function withCapacity(
  { config }: PreparedWeights,
  cache: KeyValueCache,
  length: number,
  needed: number,
): KeyValueCache {
  if (needed <= cache.capacity) return cache;
  const larger = createCache(config, 1, roundCapacity(needed));
  copyRow(config, cache, 0, larger, 0, length);
  return larger;
}

/**
 * Copies the keys and values of a chunk, from offset `from` in [2 * layers, keyValueHeads, padded, headSize], into the
 * cache at position `start`.
 */
function writeChunk(
  { config: { keyValueHeads, headSize } }: PreparedWeights,
  cache: KeyValueCache,
  fresh: Float32Array,
  { from, start, count, padded }: { from: number; start: number; count: number; padded: number },
): void {
  const copy = (target: Float32Array, part: number) => {
    for (let head = 0; head < keyValueHeads; head++) {
      const at = ((part * keyValueHeads + head) * padded + from) * headSize;
      target.set(fresh.subarray(at, at + count * headSize), (head * cache.capacity + start) * headSize);
    }
  };
  cache.keys.forEach((keys, layer) => copy(keys, 2 * layer));
  cache.values.forEach((values, layer) => copy(values, 2 * layer + 1));
}

function scoreToken(
  logits: Float32Array,
  offset: number,
  token: number,
  vocabularySize: number,
  alternatives: number,
): TokenLogprob[] & { 0: TokenLogprob } {
  const raw = rawDistribution(logits, offset, vocabularySize);
  const others = alternatives === 0 ? [] : raw.best(alternatives).filter((other) => other.token !== token);
  return [{ token, logprob: raw.logprob(token), rank: raw.rank(token) }, ...others];
}
