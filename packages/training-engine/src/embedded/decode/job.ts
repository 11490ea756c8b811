import type { GenerateResult, Generation, GenerationChunk } from "../../port.js";
import { createBeamSearch, type BeamSearch } from "../../sampling/beam-search.js";
import { createCompletion, type Completion, type CompletionContext } from "../../sampling/completion.js";
import type { CompiledConstraint } from "./compiled-constraint.js";
import { cacheBytes, roundCapacity } from "./key-value-cache.js";
import type { LoadedWeights } from "./loaded-weights.js";
import { createPromptReader, isShortPrompt, readShortPrompts, type PromptReader, type ReadPrompt } from "./prompt.js";

/** A request on its way through the scheduler. */
export interface Job {
  readonly weights: LoadedWeights;
  readonly context: CompletionContext;
  readonly priority: number;
  /** Of arrival. */
  readonly order: number;
  /** Positions that each of its rows may come to need; rows of one batch have the same. */
  readonly capacity: number;
  /** Of what is kept for the answer. */
  readonly keptBytes: number;
  /** How many completions have not begun; none of a beam search, which is all in `beams`. */
  readonly waiting: number;
  readonly beams?: BeamSearch;
  /** The next completion; undefined when all have begun. */
  begin(): Completion | undefined;
  /** Rows that decode for it. */
  rows: number;
  reader?: PromptReader;
  /** Until the last completion has begun from it. */
  prompt?: ReadPrompt;
  promptLogprobs?: GenerateResult["promptLogprobs"];
  /** Answered, failed or aborted: its rows are to be dropped. */
  readonly settled: boolean;
  /** Settled without an answer. */
  readonly failed: boolean;
  emit(chunk: GenerationChunk): void;
  /** Whether anybody listens to chunks. */
  readonly streams: boolean;
  /** Takes finished completions; the last one settles the job. */
  finish(generations: readonly Generation[]): void;
  fail(error: unknown): void;
}

export interface JobInput {
  weights: LoadedWeights;
  context: CompletionContext;
  /** What the completions may say. */
  constraint?: CompiledConstraint;
  order: number;
  onChunk?: (chunk: GenerationChunk) => void;
  resolve: (result: GenerateResult) => void;
  reject: (error: unknown) => void;
}

export function createJob({ weights, context, constraint, order, onChunk, resolve, reject }: JobInput): Job {
  const { request } = context;
  const beams = request.beamSearch && createBeamSearch(context);
  const begun: Completion[] = [];
  const generations: Generation[] = [];
  let missing = request.n;
  let settled = false;
  let failed = false;
  const settle = (answer: () => void) => {
    if (settled) return;
    settled = true;
    job.reader = undefined;
    job.prompt = undefined;
    constraint?.close();
    for (const completion of begun) completion.close();
    answer();
  };
  const job: Job = {
    weights,
    context,
    order,
    priority: request.priority ?? 0,
    capacity: finalCapacity(context),
    keptBytes: answerBytes(context),
    get waiting() {
      return beams || settled ? 0 : request.n - begun.length;
    },
    beams,
    begin() {
      if (job.waiting === 0) return undefined;
      const completion = createCompletion(context, begun.length, constraint?.session());
      begun.push(completion);
      return completion;
    },
    rows: 0,
    get settled() {
      return settled;
    },
    streams: onChunk !== undefined,
    emit(chunk) {
      if (!settled) onChunk?.(chunk);
    },
    finish(finished) {
      for (const generation of finished) generations[generation.index] = generation;
      missing -= finished.length;
      if (missing > 0 && !beams) return;
      const { promptLogprobs } = job;
      settle(() => resolve({ generations, cachedTokens: 0, ...(promptLogprobs && { promptLogprobs }) }));
    },
    get failed() {
      return failed;
    },
    fail(error) {
      failed ||= !settled;
      settle(() => reject(error));
    },
  };
  return job;
}

/** Reads the prompts of jobs that `canShareReading`, on the same weights. */
export async function readPrompts(jobs: readonly Job[]): Promise<void> {
  const [first] = jobs;
  if (!first) return;
  const prompts = await readShortPrompts(
    first.weights,
    jobs.map(({ context }) => context.request.prompt),
  );
  jobs.forEach((job, i) => {
    if (!job.settled) job.prompt = prompts[i];
  });
}

export function canShareReading({ reader, prompt, context }: Job): boolean {
  const { request } = context;
  return !reader && !prompt && request.promptLogprobs === undefined && isShortPrompt(request.prompt);
}

/** The next piece of a job's prompt. */
export async function readPrompt(job: Job): Promise<void> {
  const { request } = job.context;
  job.reader ??= createPromptReader(job.weights, request.prompt, request.promptLogprobs);
  const prompt = await job.reader.next();
  if (!prompt || job.settled) return;
  job.prompt = prompt;
  job.promptLogprobs = prompt.logprobs;
  job.reader = undefined;
}

/** Bytes of the prompt alone, while completions begin from it. */
export function promptBytes({ weights, context }: Pick<Job, "weights" | "context">): number {
  return cacheBytes(weights.config, 1, roundCapacity(context.request.prompt.length));
}

/** Short rows share their batches whatever their length is. */
const smallestClass = 512;

/** Positions that a row of the request may come to need, rounded. */
export function finalCapacity({ request }: CompletionContext): number {
  return Math.max(smallestClass, roundCapacity(request.prompt.length + request.maxTokens));
}

/** A log-probability with its token and rank takes about so much. */
const entryBytes = 48;

/** What the answer holds until it is given. */
export function answerBytes({ request, rowSize }: CompletionContext): number {
  const { n, maxTokens, prompt, topLogprobs = 0, promptLogprobs } = request;
  const entries = (count: number) => 1 + (count < 0 ? rowSize : Math.min(count, rowSize));
  const sampled = n * maxTokens * entries(topLogprobs);
  const scored = promptLogprobs === undefined ? 0 : prompt.length * entries(promptLogprobs);
  return (sampled + scored) * entryBytes;
}
