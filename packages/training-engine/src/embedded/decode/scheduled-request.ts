import type { GenerateResult, Completion, CompletionChunk } from "../../port.js";
import type { BeamSearch } from "../../sampling/beam-search.js";
import { createBeamSearch } from "../../sampling/beam-search.js";
import type { CompletionSampler, CompletionContext } from "../../sampling/completion-sampler.js";
import { createCompletionSampler } from "../../sampling/completion-sampler.js";
import type { CompiledConstraint } from "./compiled-constraint.js";
import { cacheBytes, roundCapacity } from "./key-value-cache.js";
import type { PreparedWeights } from "./prepared-weights.js";
import type { PromptReader, PrefilledPrompt } from "./prompt.js";
import { createPromptReader, isShortPrompt, prefillShortPrompts } from "./prompt.js";

/** A request on its way through the scheduler. */
export interface ScheduledRequest {
  readonly weights: PreparedWeights;
  readonly context: CompletionContext;
  readonly priority: number;
  /** Of arrival. */
  readonly order: number;
  /** Positions that each of its rows may come to need; rows of one batch have the same. */
  readonly capacity: number;
  /** Of what is kept for the answer. */
  readonly resultBytes: number;
  /** How many completions have not begun; none of a beam search, which is all in `beams`. */
  readonly unstarted: number;
  readonly beams?: BeamSearch;
  /** The next completion; undefined when all have begun. */
  startCompletion(): CompletionSampler | undefined;
  /** Rows that decode for it. */
  rows: number;
  reader?: PromptReader;
  /** Until the last completion has begun from it. */
  prompt?: PrefilledPrompt;
  promptLogprobs?: GenerateResult["promptLogprobs"];
  /** Answered, failed or aborted: its rows are to be dropped. */
  readonly settled: boolean;
  /** Settled without an answer. */
  readonly failed: boolean;
  emit(chunk: CompletionChunk): void;
  /** Whether anybody listens to chunks. */
  readonly isStreaming: boolean;
  /** Takes finished completions; the last one settles the job. */
  finish(completions: readonly Completion[]): void;
  fail(error: unknown): void;
}

export interface ScheduledRequestInput {
  weights: PreparedWeights;
  context: CompletionContext;
  /** What the completions may say. */
  constraint?: CompiledConstraint;
  order: number;
  onChunk?: (chunk: CompletionChunk) => void;
  resolve: (result: GenerateResult) => void;
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
  let settled = false;
  let failed = false;
  const settle = (answer: () => void) => {
    if (settled) return;
    settled = true;
    scheduled.reader = undefined;
    scheduled.prompt = undefined;
    constraint?.close();
    for (const completion of started) completion.close();
    answer();
  };
  const scheduled: ScheduledRequest = {
    weights,
    context,
    order,
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
    get settled() {
      return settled;
    },
    isStreaming: onChunk !== undefined,
    emit(chunk) {
      if (!settled) onChunk?.(chunk);
    },
    finish(finished) {
      for (const completion of finished) completions[completion.index] = completion;
      remaining -= finished.length;
      if (remaining > 0 && !beams) return;
      const { promptLogprobs } = scheduled;
      settle(() => resolve({ completions, cachedTokens: 0, ...(promptLogprobs && { promptLogprobs }) }));
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

/** Reads the prompts of jobs that `canShareReading`, on the same weights. */
export async function prefillTogether(batch: readonly ScheduledRequest[]): Promise<void> {
  const [first] = batch;
  if (!first) return;
  const prompts = await prefillShortPrompts(
    first.weights,
    batch.map(({ context }) => context.request.prompt),
  );
  batch.forEach((scheduled, i) => {
    if (!scheduled.settled) scheduled.prompt = prompts[i];
  });
}

export function canSharePrefill({ reader, prompt, context }: ScheduledRequest): boolean {
  const { request } = context;
  return !reader && !prompt && request.promptLogprobs === undefined && isShortPrompt(request.prompt);
}

/** The next piece of a job's prompt. */
export async function prefillChunk(scheduled: ScheduledRequest): Promise<void> {
  const { request } = scheduled.context;
  scheduled.reader ??= createPromptReader(scheduled.weights, request.prompt, request.promptLogprobs);
  const prompt = await scheduled.reader.next();
  if (!prompt || scheduled.settled) return;
  scheduled.prompt = prompt;
  scheduled.promptLogprobs = prompt.logprobs;
  scheduled.reader = undefined;
}

/** Bytes of the prompt alone, while completions begin from it. */
export function promptBytes({ weights, context }: Pick<ScheduledRequest, "weights" | "context">): number {
  return cacheBytes(weights.config, 1, roundCapacity(context.request.prompt.length));
}

/** Short rows share their batches whatever their length is. */
const minRowCapacity = 512;

/** Positions that a row of the request may come to need, rounded. */
export function requiredCapacity({ request }: CompletionContext): number {
  return Math.max(minRowCapacity, roundCapacity(request.prompt.length + request.maxTokens));
}

/** A log-probability with its token and rank takes about so much. */
const logprobBytes = 48;

/** What the answer holds until it is given. */
export function resultBytesOf({ request, rowSize }: CompletionContext): number {
  const { n, maxTokens, prompt, topLogprobs = 0, promptLogprobs } = request;
  const entries = (count: number) => 1 + (count < 0 ? rowSize : Math.min(count, rowSize));
  const sampled = n * maxTokens * entries(topLogprobs);
  const scored = promptLogprobs === undefined ? 0 : prompt.length * entries(promptLogprobs);
  return (sampled + scored) * logprobBytes;
}
