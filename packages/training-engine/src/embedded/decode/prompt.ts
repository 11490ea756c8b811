import type { TokenLogprob } from "../../port.js";
import { rawDistribution } from "../../sampling/raw-distribution.js";
import { tensor } from "../session.js";
import { copyRow, createCache, roundCapacity, roundRows, type KeyValueCache } from "./key-value-cache.js";
import type { LoadedWeights } from "./loaded-weights.js";
import { rotaryRows } from "./rotary-rows.js";

/** A prompt that was read: where completions begin. */
export interface ReadPrompt {
  cache: KeyValueCache;
  length: number;
  /** Of the token after the prompt. */
  logits: Float32Array;
  probabilities: Float32Array;
  logprobs?: PromptLogprobs;
}

type PromptLogprobs = ((TokenLogprob[] & { 0: TokenLogprob }) | null)[];

/** Reads a prompt piece by piece, so that others can take their steps in between. */
export interface PromptReader {
  /** Reads the next piece; the prompt once it was the last one. */
  next(): Promise<ReadPrompt | undefined>;
}

/** Tokens of a prompt that are read at once. */
const pieceTokens = 256;
const smallestPiece = 16;
/** Logits of a piece whose log-probabilities are asked for. */
const mostLogits = 2 ** 24;
const hidden = -1e30;

/** `alternatives`: per prompt token, -1 for the whole vocabulary; absent: the prompt's log-probabilities are not computed. */
export function createPromptReader(weights: LoadedWeights, prompt: Int32Array, alternatives?: number): PromptReader {
  const { config } = weights;
  const scored = alternatives !== undefined;
  const fitting = scored ? Math.floor(mostLogits / config.vocabularySize) : pieceTokens;
  const most = Math.min(pieceTokens, Math.max(smallestPiece, 2 ** Math.floor(Math.log2(Math.max(1, fitting)))));
  let cache = createCache(config, 1, roundCapacity(1));
  let length = 0;
  const logprobs: PromptLogprobs = [null];

  return {
    async next() {
      const count = Math.min(most, prompt.length - length);
      const selected = scored ? Array.from({ length: count }, (_, i) => i) : [count - 1];
      const { logits, probabilities, fresh, padded } = await runPiece(weights, cache, {
        tokens: prompt.subarray(length, length + count),
        start: length,
        selected,
      });
      cache = withRoom(weights, cache, length, length + count);
      writePiece(weights, cache, fresh, { start: length, count, padded });
      if (scored) {
        for (let i = 0; i < count && length + i + 1 < prompt.length; i++) {
          logprobs.push(
            scoreToken(logits, i * config.vocabularySize, prompt[length + i + 1]!, config.vocabularySize, alternatives),
          );
        }
      }
      length += count;
      if (length < prompt.length) return undefined;
      const last = (selected.length - 1) * config.vocabularySize;
      return {
        cache,
        length,
        logits: logits.slice(last, last + config.vocabularySize),
        probabilities: probabilities.slice(last, last + config.vocabularySize),
        logprobs: scored ? logprobs : undefined,
      };
    },
  };
}

interface Piece {
  tokens: Int32Array;
  /** Position of its first token; as many are in the cache. */
  start: number;
  selected: number[];
}

async function runPiece({ config, prefill }: LoadedWeights, cache: KeyValueCache, { tokens, start, selected }: Piece) {
  const { keyValueHeads, headSize, layers, vocabularySize } = config;
  const padded = Math.max(smallestPiece, roundRows(tokens.length));
  const ids = new Int32Array(padded);
  ids.set(tokens);
  const rotary = rotaryRows(config, padded);
  for (let i = 0; i < padded; i++) rotary.fill(i, start + i);
  const width = cache.capacity + padded;
  const mask = new Float32Array(padded * width).fill(hidden);
  for (let i = 0; i < padded; i++) {
    mask.fill(0, i * width, i * width + start);
    mask.fill(0, i * width + cache.capacity, i * width + cache.capacity + i + 1);
  }
  const half = headSize / 2;
  const rows = (data: Float32Array) => tensor("float32", data, [padded, half]);
  const past = [keyValueHeads, cache.capacity, headSize];
  const feeds = {
    ...prefill.weights,
    tokens: tensor("int32", ids, [padded]),
    start: tensor("int64", new BigInt64Array(1), [1]),
    cos: rows(rotary.cos),
    sin: rows(rotary.sin),
    query_cos: rows(rotary.queryCos),
    query_sin: rows(rotary.querySin),
    mask: tensor("float32", mask, [padded, width]),
    selected: tensor("int32", Int32Array.from(selected), [selected.length]),
    ...Object.fromEntries(cache.keys.map((keys, layer) => [`keys.${layer}`, tensor("float32", keys, past)])),
    ...Object.fromEntries(cache.values.map((values, layer) => [`values.${layer}`, tensor("float32", values, past)])),
  };
  const output = (dims: number[]) =>
    tensor("float32", new Float32Array(dims.reduce((product, each) => product * each, 1)), dims);
  const results = await prefill.session.run(feeds, {
    logits: output([selected.length, vocabularySize]),
    probabilities: output([selected.length, vocabularySize]),
    fresh: output([2 * layers, keyValueHeads, padded, headSize]),
  });
  const dataOf = (name: "logits" | "probabilities" | "fresh") => results[name].data as Float32Array;
  return { logits: dataOf("logits"), probabilities: dataOf("probabilities"), fresh: dataOf("fresh"), padded };
}

function withRoom({ config }: LoadedWeights, cache: KeyValueCache, length: number, needed: number): KeyValueCache {
  if (needed <= cache.capacity) return cache;
  const grown = createCache(config, 1, roundCapacity(needed));
  copyRow(config, cache, 0, grown, 0, length);
  return grown;
}

/** Copies the keys and values of a piece, [2 * layers, keyValueHeads, padded, headSize], behind those before it. */
function writePiece(
  { config: { keyValueHeads, headSize } }: LoadedWeights,
  cache: KeyValueCache,
  fresh: Float32Array,
  { start, count, padded }: { start: number; count: number; padded: number },
): void {
  const copy = (target: Float32Array, part: number) => {
    for (let head = 0; head < keyValueHeads; head++) {
      const from = (part * keyValueHeads + head) * padded * headSize;
      target.set(fresh.subarray(from, from + count * headSize), (head * cache.capacity + start) * headSize);
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
