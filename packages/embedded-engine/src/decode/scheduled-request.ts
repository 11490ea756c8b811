import type { Completion, CompletionChunk } from "@heddle/training";
import type { SamplingResult } from "../sampling/sampling-request.js";
import type { BeamSearch } from "../sampling/beam-search.js";
import { createBeamSearch } from "../sampling/beam-search.js";
import type { CompletionSampler, CompletionContext } from "../sampling/completion-sampler.js";
import { createCompletionSampler } from "../sampling/completion-sampler.js";
import type { CompiledConstraint } from "./compiled-constraint.js";
import { cacheBytes, roundCapacity } from "./key-value-cache.js";
import type { PreparedWeights } from "./prepared-weights.js";
import type { PromptCache } from "./prompt-cache.js";
import type { PromptReader, PrefilledPrompt } from "./prompt.js";
import { createPromptReader, isShortPrompt, prefillShortPrompts } from "./prompt.js";

/** Gets what is generated. A promise that it returns for a chunk that takes long to pass on holds back the next step. */
export type OnChunk = (chunk: CompletionChunk) => unknown;

/** A request in the scheduler. */
export interface ScheduledRequest {
  readonly weights: PreparedWeights;
  readonly context: CompletionContext;
  /** Who shares the sampler with others; absent: limited by its capacity only. */
  readonly sharer: CompletionContext["request"]["sharer"];
  readonly priority: number;
  /** Order of arrival. */
  readonly order: number;
  /** Maximum number of positions per row; rows of one batch have the same. */
  readonly capacity: number;
  /** Bytes of the result until it is delivered. */
  readonly resultBytes: number;
  /** Number of completions that have not started; 0 for a beam search, whose completions are all in `beams`. */
  readonly unstarted: number;
  readonly beams?: BeamSearch;
  /** Starts the next completion. Returns undefined when all have started. */
  startCompletion(): CompletionSampler | undefined;
  /** Number of rows that decode for it. */
  rows: number;
  reader?: PromptReader;
  /** The prefilled prompt, until the last completion has started from it. */
  prompt?: PrefilledPrompt;
  /** Tokens of the prompt that were kept from other requests; undefined until it is looked for. */
  cachedTokens: number | undefined;
  promptLogprobs?: SamplingResult["promptLogprobs"];
  /** Completed, failed or aborted: its rows can be dropped. */
  readonly settled: boolean;
  /** Settled without a result. */
  readonly failed: boolean;
  emit(chunk: CompletionChunk): void;
  /** Resolves when the chunk that takes long was passed on. */
  readonly passingOn: Promise<unknown> | undefined;
  /** Whether the caller receives chunks. */
  readonly isStreaming: boolean;
  /** Adds finished completions; the last one settles the request. */
  finish(completions: readonly Completion[]): void;
  fail(error: unknown): void;
}

export interface ScheduledRequestInput {
  weights: PreparedWeights;
  context: CompletionContext;
  /** Constraint on the text of the completions. */
  constraint?: CompiledConstraint;
  order: number;
  onChunk?: OnChunk;
  resolve: (result: SamplingResult) => void;
  reject: (error: unknown) => void;
}

export function createScheduledRequest({
  weights,
  context,
  constraint,
  order,
  onChunk,
  resolve,
  reject,
}: ScheduledRequestInput): ScheduledRequest {
  const { request } = context;
  const beams = request.beamSearch && createBeamSearch(context);
  const started: CompletionSampler[] = [];
  const completions: Completion[] = [];
  let remaining = request.n;
  let passingOn: Promise<unknown> | undefined;
  let settled = false;
  let failed = false;
  const settle = (notify: () => void) => {
    if (settled) return;
    settled = true;
    scheduled.reader = undefined;
    scheduled.prompt = undefined;
    constraint?.close();
    for (const completion of started) completion.close();
    notify();
  };
  const scheduled: ScheduledRequest = {
    weights,
    context,
    order,
    sharer: request.sharer,
    priority: request.priority ?? 0,
    capacity: requiredCapacity(context),
    resultBytes: resultBytesOf(context),
    get unstarted() {
      return beams || settled ? 0 : request.n - started.length;
    },
    beams,
    startCompletion() {
      if (scheduled.unstarted === 0) return undefined;
      const completion = createCompletionSampler(context, started.length, constraint?.session());
      started.push(completion);
      return completion;
    },
    rows: 0,
    cachedTokens: undefined,
    get settled() {
      return settled;
    },
    isStreaming: onChunk !== undefined,
    emit(chunk) {
      if (settled) return;
      const passed = onChunk?.(chunk);
      passingOn = passed instanceof Promise ? passed : undefined;
    },
    get passingOn() {
      return passingOn;
    },
    finish(finished) {
      for (const completion of finished) completions[completion.index] = completion;
      remaining -= finished.length;
      if (remaining > 0 && !beams) return;
      const { promptLogprobs, cachedTokens = 0 } = scheduled;
      settle(() => resolve({ completions, cachedTokens, ...(promptLogprobs && { promptLogprobs }) }));
    },
    get failed() {
      return failed;
    },
    fail(error) {
      failed ||= !settled;
      settle(() => reject(error));
    },
  };
  return scheduled;
}

/** Prefills the prompts of requests for which `canSharePrefill` is true, on the same weights, in one run. */
export async function prefillTogether(batch: readonly ScheduledRequest[]): Promise<void> {
  const [first] = batch;
  if (!first) return;
  const prompts = await prefillShortPrompts(
    first.weights,
    batch.map(({ context }) => context.request.prompt),
  );
  batch.forEach((scheduled, i) => {
    scheduled.cachedTokens ??= 0;
    if (!scheduled.settled) scheduled.prompt = prompts[i];
  });
}

export function canSharePrefill({ reader, prompt, context, weights }: ScheduledRequest): boolean {
  const { request } = context;
  // Linear attention would read one prompt after the other.
  if (weights.config.linearAttention) return false;
  return !reader && !prompt && request.promptLogprobs === undefined && isShortPrompt(request.prompt);
}

/** Prefills the next chunk of a request's prompt, after what is kept of it. */
export async function prefillChunk(scheduled: ScheduledRequest, prompts: PromptCache): Promise<void> {
  const { weights, context } = scheduled;
  const { request } = context;
  if (!scheduled.reader) {
    const from = prompts.beginning(weights, request);
    scheduled.cachedTokens ??= from?.length ?? 0;
    scheduled.reader = createPromptReader(weights, request.prompt, { alternatives: request.promptLogprobs, from });
  }
  const prompt = await scheduled.reader.next();
  if (!prompt || scheduled.settled) return;
  scheduled.prompt = prompt;
  scheduled.promptLogprobs = prompt.logprobs;
  scheduled.reader = undefined;
}

/** Takes the prompt of a request from those that are kept. */
export function takeKeptPrompt(scheduled: ScheduledRequest, prompts: PromptCache): void {
  if (scheduled.reader || scheduled.settled) return;
  scheduled.prompt = prompts.whole(scheduled.weights, scheduled.context.request);
  if (scheduled.prompt) scheduled.cachedTokens ??= scheduled.prompt.length;
}

/** Bytes of the prompt's own cache, which exists until all completions have started. */
export function promptBytes({ weights, context }: Pick<ScheduledRequest, "weights" | "context">): number {
  return cacheBytes(weights.config, 1, roundCapacity(context.request.prompt.length));
}

/** Rows shorter than this share batches regardless of their length. */
export const minRowCapacity = 512;

/** Returns the maximum number of positions of a row of the request, rounded up. */
export function requiredCapacity({ request }: CompletionContext): number {
  return Math.max(minRowCapacity, roundCapacity(request.prompt.length + request.maxTokens));
}

/** Approximate bytes of a log-probability with its token and rank. */
export const logprobBytes = 48;

/** Returns the approximate bytes of the result of a request. */
export function resultBytesOf(context: CompletionContext): number {
  return maxLogprobsOf(context) * logprobBytes;
}

/** Returns the maximum number of log-probabilities in the result of a request. */
export function maxLogprobsOf({ request, rowSize }: CompletionContext): number {
  const { n, maxTokens, prompt, topLogprobs = 0, promptLogprobs } = request;
  const entries = (count: number) => 1 + (count < 0 ? rowSize : Math.min(count, rowSize));
  const sampled = n * maxTokens * entries(topLogprobs);
  const scored = promptLogprobs === undefined ? 0 : prompt.length * entries(promptLogprobs);
  return sampled + scored;
}
