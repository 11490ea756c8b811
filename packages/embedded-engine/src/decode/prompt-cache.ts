import type { SamplingRequest } from "../sampling/sampling-request.js";
import { createCache, roundCapacity } from "./key-value-cache.js";
import type { KeyValueCache } from "./key-value-cache.js";
import type { PromptPart } from "./kept-parts.js";
import { KeptParts, bytesOf } from "./kept-parts.js";
import type { PreparedWeights } from "./prepared-weights.js";
import type { CacheRow } from "./prompt-blocks.js";
import { readBlock, writeBlock } from "./prompt-blocks.js";
import type { PrefilledPrompt, PromptStart } from "./prompt.js";
import { chunkTokens } from "./prompt.js";
import { isLongText } from "../model/long-texts.js";

type PromptRequest = Pick<SamplingRequest, "prompt" | "sharer" | "cacheSalt" | "promptLogprobs">;

/** Shorter prompts take less time to read than to keep. */
const minTokens = 16;

/**
 * Keeps the keys and values of prompts and of what was generated after them, for requests on the same weights, of the same
 * entity and with the same salt. Prompts are kept in chunks, so that one that begins like an earlier one is read in the same
 * chunks as without it, with the same bits; a prompt that was read before is not read at all. What was generated has keys
 * and values of decoding steps, whose last bits differ from those of a prompt.
 *
 * Requests for log-probabilities of the prompt have to read it: they find and keep nothing.
 */
export class PromptCache {
  readonly #maxBytes: number;
  readonly #kept = new KeptParts();
  /** What prompts begin with, by weights. */
  readonly #roots = new Map<PreparedWeights, PromptPart>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#kept.bytes;
  }

  /** Lets prompts of the weights be kept, until `close`. */
  open(weights: PreparedWeights): void {
    // A state of linear attention is that of one position, and says nothing of those before.
    if (weights.config.linearAttention) return;
    const block = new Float32Array();
    this.#roots.set(weights, { parent: undefined, name: "", block, count: 0, outputs: undefined, next: new Map() });
  }

  close(weights: PreparedWeights): void {
    const root = this.#roots.get(weights);
    if (root) this.#kept.remove(root);
    this.#roots.delete(weights);
  }

  /** Gives up parts until the others take at most `bytes`. */
  limit(bytes: number): void {
    while (this.#kept.bytes > Math.max(0, bytes) && this.#kept.evict());
  }

  /** Returns whether the whole prompt was read before. */
  has(weights: PreparedWeights, request: PromptRequest): boolean {
    return this.#wholeOf(weights, request) !== undefined;
  }

  /** Returns the prompt if all of it was read before. */
  whole(weights: PreparedWeights, request: PromptRequest): PrefilledPrompt | undefined {
    const last = this.#wholeOf(weights, request);
    if (!last?.outputs) return undefined;
    this.#kept.use(last);
    const length = request.prompt.length;
    return { cache: this.#restored(weights, last, length), length, ...last.outputs };
  }

  /** Returns the longest beginning of the prompt that was read before, in whole chunks. At least one token is left to read. */
  beginning(weights: PreparedWeights, request: PromptRequest): PromptStart | undefined {
    const last = this.#chunksOf(weights, request, request.prompt.length - 1).at(-1);
    if (!last) return undefined;
    this.#kept.use(last);
    const length = lengthOf(last);
    return { cache: this.#restored(weights, last, length), length };
  }

  /** Keeps a prompt that was read, as far as it fits into `freeBytes`. */
  keep(
    weights: PreparedWeights,
    request: PromptRequest,
    { cache, length, logits, probabilities }: PrefilledPrompt,
    freeBytes: number,
  ): void {
    if (length < minTokens || request.promptLogprobs !== undefined) return;
    const row = { cache, row: 0 };
    const last = this.#keepChunks(weights, request, request.prompt, row, freeBytes);
    if (!last || lengthOf(last) < wholeChunks(length)) return;
    const start = lengthOf(last);
    const positions = { start, count: length - start };
    // The rows outlive the buffers that they are parts of.
    const outputs = { logits, probabilities };
    this.#add(
      weights,
      request,
      last,
      { name: endName(weights, request, request.prompt, start), positions, row, outputs },
      freeBytes,
    );
  }

  /** Keeps what was generated after a prompt: the tokens of a row that has ended, in whole chunks. */
  keepGenerated(
    weights: PreparedWeights,
    request: PromptRequest,
    tokens: Int32Array,
    row: CacheRow,
    freeBytes: number,
  ): void {
    if (request.promptLogprobs !== undefined || wholeChunks(tokens.length) <= wholeChunks(request.prompt.length))
      return;
    this.#keepChunks(weights, request, tokens, row, freeBytes);
  }

  #keepChunks(
    weights: PreparedWeights,
    request: PromptRequest,
    tokens: Int32Array,
    row: CacheRow,
    freeBytes: number,
  ): PromptPart | undefined {
    let last = this.#roots.get(weights);
    for (let start = 0; last && start + chunkTokens <= tokens.length; start += chunkTokens) {
      const name = nameOf(weights, request, tokens, start);
      const positions = { start, count: chunkTokens };
      last = last.next.get(name) ?? this.#add(weights, request, last, { name, positions, row }, freeBytes);
    }
    return last;
  }

  #add(
    weights: PreparedWeights,
    { sharer }: PromptRequest,
    parent: PromptPart,
    part: { name: string; positions: { start: number; count: number }; row: CacheRow; outputs?: PromptPart["outputs"] },
    freeBytes: number,
  ): PromptPart | undefined {
    if (parent.next.has(part.name)) return parent.next.get(part.name);
    const { name, positions, row, outputs } = part;
    const { count } = positions;
    const block = readBlock(weights.config, row, positions);
    const added: PromptPart = { parent, name, block, count, outputs, next: new Map() };
    const limit = Math.min(this.#maxBytes, freeBytes);
    this.#kept.use(parent);
    while (this.#kept.bytes + bytesOf(added) > limit) if (!this.#kept.evict(parent)) return undefined;
    this.#kept.add(added, sharer);
    return added;
  }

  #chunksOf(weights: PreparedWeights, request: PromptRequest, most: number): PromptPart[] {
    if (request.promptLogprobs !== undefined) return [];
    const chunks: PromptPart[] = [];
    let last = this.#roots.get(weights);
    for (let start = 0; last && start + chunkTokens <= most; start += chunkTokens) {
      last = last.next.get(nameOf(weights, request, request.prompt, start));
      if (last) chunks.push(last);
    }
    return chunks;
  }

  #wholeOf(weights: PreparedWeights, request: PromptRequest): PromptPart | undefined {
    const { prompt } = request;
    if (request.promptLogprobs !== undefined || prompt.length < minTokens) return undefined;
    const chunks = this.#chunksOf(weights, request, prompt.length);
    const start = chunks.length * chunkTokens;
    if (start < wholeChunks(prompt.length)) return undefined;
    return (chunks.at(-1) ?? this.#roots.get(weights))?.next.get(endName(weights, request, prompt, start));
  }

  /** The capacity is that of a prompt that was read to here, because the last bits depend on it. */
  #restored({ config }: PreparedWeights, last: PromptPart, length: number): KeyValueCache {
    const cache = createCache(config, 1, roundCapacity(length));
    for (let part: PromptPart | undefined = last, end = length; part?.parent; end -= part.count, part = part.parent) {
      writeBlock(config, part.block, { cache, row: 0 }, { start: end - part.count, count: part.count });
    }
    return cache;
  }
}

function lengthOf(last: PromptPart): number {
  let length = 0;
  for (let part: PromptPart | undefined = last; part; part = part.parent) length += part.count;
  return length;
}

function wholeChunks(length: number): number {
  return length - (length % chunkTokens);
}

/** The first part of a prompt names for whom it is kept, too, and whether it is one of a long text. */
function nameOf(
  { config }: PreparedWeights,
  { sharer, cacheSalt }: PromptRequest,
  tokens: Int32Array,
  start: number,
): string {
  const isLong = isLongText(config, tokens.length);
  const scope = start === 0 ? JSON.stringify([sharer?.entity ?? null, cacheSalt ?? null, isLong]) : "";
  return scope + tokens.subarray(start, start + chunkTokens).join();
}

/** Names the end of a prompt, which may be empty, unlike any chunk. */
function endName(weights: PreparedWeights, request: PromptRequest, tokens: Int32Array, start: number): string {
  return `${nameOf(weights, request, tokens, start)}.`;
}
