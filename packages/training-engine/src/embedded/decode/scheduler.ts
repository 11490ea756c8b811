import { EngineError } from "../../engine-error.js";
import { createBeamGroup } from "./beam-group.js";
import { answerBytes, canShareReading, finalCapacity, promptBytes, readPrompt, readPrompts, type Job } from "./job.js";
import { pieceTokens } from "./prompt.js";
import { cacheBytes, roundRows } from "./key-value-cache.js";
import { advance, createSamplingGroup, type RowGroup, type SamplingGroup } from "./row-group.js";

export interface SchedulerSettings {
  /** Rows decoded at once, over all weights. */
  maxRows: number;
  /** Of caches and of what is kept for answers. */
  memoryBytes: number;
}

export interface Scheduler {
  add(job: Job): void;
  /** Jobs of which no completion has begun. */
  readonly queued: number;
  readonly rows: number;
  readonly steps: number;
  readonly prefills: number;
  readonly cacheBytes: number;
  /** Resolves when nothing runs any more. */
  idle(): Promise<void>;
}

/**
 * Decodes all jobs together. Per turn: completions that there is room for begin, each with its first token from its job's
 * prompt, which is read once for all of them, and short ones side by side; then every group of rows takes a step; then the
 * event loop turns.
 *
 * Who begins: the highest priority; among equals the job with the fewest rows, so that one with many completions does not
 * shut the others out; then who came first. A job that must wait for memory or rows lets those that came before it go on, and
 * nobody after it.
 */
export function createScheduler({ maxRows, memoryBytes }: SchedulerSettings): Scheduler {
  /** Jobs that still have something to begin. */
  let waiting: Job[] = [];
  let groups: RowGroup[] = [];
  /** Jobs whose answers are being collected. */
  let running: Job[] = [];
  let loop: Promise<void> | undefined;
  let [steps, prefills] = [0, 0];

  const rows = () => groups.reduce((sum, group) => sum + group.rows, 0);
  const rowsToBegin = (job: Job) => (job.beams ? job.context.request.n : 1);
  /** Memory in use once more of the job begins. */
  const bytesWith = (job: Job): number => {
    const more = rowsToBegin(job);
    const group = job.beams ? undefined : groupOf(job);
    const others = running.filter((each) => each !== job).reduce((sum, each) => sum + each.keptBytes, 0);
    const prompts = [...new Set([...waiting.filter((each) => each.prompt ?? each.reader), job])];
    return (
      groups.reduce((sum, each) => sum + groupBytes(each, each === group ? more : 0), 0) +
      (group ? 0 : groupBytes({ weights: job.weights, capacity: job.capacity, rows: 0 }, more)) +
      prompts.reduce((sum, each) => sum + promptBytes(each), 0) +
      others +
      job.keptBytes
    );
  };
  const fits = (job: Job) => rows() + rowsToBegin(job) <= maxRows && bytesWith(job) <= memoryBytes;
  const groupOf = (job: Job): SamplingGroup | undefined =>
    groups.find(
      (group): group is SamplingGroup =>
        "join" in group &&
        group.weights === job.weights &&
        group.capacity === job.capacity &&
        group.rows < maxRowsPerRun,
    );
  const nextToBegin = (): Job | undefined => {
    const byTurn = waiting.toSorted((a, b) => b.priority - a.priority || a.rows - b.rows || a.order - b.order);
    let blocked = Infinity;
    for (const job of byTurn) {
      if (job.order > blocked) continue;
      if (fits(job)) return job;
      blocked = job.order;
    }
    return undefined;
  };

  /** The job and others whose short prompts can be read in the same run, as far as rows and memory go. */
  const readTogether = (job: Job): Job[] => {
    if (!canShareReading(job)) return [job];
    const length = (each: Job) => each.context.request.prompt.length;
    const together = [job];
    let tokens = length(job);
    let bytes = bytesWith(job);
    let free = maxRows - rows() - rowsToBegin(job);
    for (const each of waiting) {
      if (each === job || each.weights !== job.weights || !canShareReading(each)) continue;
      if (tokens + length(each) > pieceTokens || bytes + promptBytes(each) > memoryBytes || free <= 0) continue;
      together.push(each);
      tokens += length(each);
      bytes += promptBytes(each);
      free -= rowsToBegin(each);
    }
    return together;
  };

  const begin = async (job: Job): Promise<void> => {
    const { prompt, weights } = job;
    if (!prompt) return;
    if (job.beams) {
      groups.push(createBeamGroup(job, job.beams, prompt));
      job.prompt = undefined;
      return;
    }
    const completion = job.begin();
    if (!completion) return;
    if (job.waiting === 0) job.prompt = undefined;
    const token = await advance(job, completion, prompt[completion.source], 0);
    if (token === undefined) return;
    let group = groupOf(job);
    if (!group) groups.push((group = createSamplingGroup(weights, job.capacity)));
    const alike = waiting.filter((each) => each.weights === weights && each.capacity === job.capacity && !each.beams);
    const coming = alike.reduce((sum, each) => sum + each.waiting, 0);
    const room = Math.min(maxRowsPerRun - group.rows, maxRows - rows()) - 1;
    group.join({ job, completion }, prompt, token, Math.min(coming, room));
  };
  const admit = async (): Promise<void> => {
    // Prompt tokens read while rows wait for their next step.
    let budget = pieceTokens;
    let begun = 0;
    for (;;) {
      forgetSettled();
      const job = nextToBegin();
      if (!job) {
        if (rows() === 0) dropPrompts();
        return;
      }
      if (!running.includes(job)) running.push(job);
      if (job.prompt) {
        await begin(job);
        // Completions of one token end here and take no step, between which the event loop would turn.
        if (++begun % 64 === 0) await turn();
        continue;
      }
      if (budget <= 0 && rows() > 0) return;
      const together = readTogether(job);
      prefills += together.filter((each) => !each.reader).length;
      await (together.length > 1 ? readPrompts(together) : readPrompt(job)).catch((error: unknown) => {
        for (const each of together) each.fail(error);
      });
      budget -= together.reduce((sum, each) => sum + Math.min(pieceTokens, each.context.request.prompt.length), 0);
      await turn();
    }
  };
  /** Gives back what jobs hold that wait for each other's memory, so that the first of them gets it. */
  const dropPrompts = () => {
    for (const job of waiting) {
      job.prompt = undefined;
      job.reader = undefined;
    }
    running = running.filter((job) => !job.beams && job.waiting < job.context.request.n);
  };
  const forgetSettled = () => {
    waiting = waiting.filter((job) => !job.settled && (job.beams ? job.rows === 0 : job.waiting > 0));
    running = running.filter((job) => !job.settled);
  };
  const run = async (): Promise<void> => {
    // Requests that come together begin together.
    await turn();
    while (waiting.length > 0 || groups.length > 0) {
      await admit();
      for (const group of groups) {
        await group.step();
        steps++;
      }
      groups = groups.filter((group) => group.rows > 0);
      await turn();
    }
  };

  /** What no request is to blame for, such as no memory where there should be some. */
  const failAll = (error: unknown) => {
    const reason =
      error instanceof EngineError ? error : new EngineError("failed", `sampling broke down: ${String(error)}`);
    for (const job of [...waiting, ...running]) job.fail(reason);
    waiting = [];
    groups = [];
    running = [];
  };

  const start = () => {
    loop ??= run()
      .catch(failAll)
      .finally(() => {
        loop = undefined;
        // What was added while the requests of a broken loop were told.
        if (waiting.length > 0) start();
      });
  };
  const idle = async (): Promise<void> => {
    if (!loop) return;
    await loop;
    await idle();
  };

  return {
    add(job) {
      waiting.push(job);
      start();
    },
    get queued() {
      return waiting.filter((job) => job.rows === 0).length;
    },
    get rows() {
      return rows();
    },
    get steps() {
      return steps;
    },
    get prefills() {
      return prefills;
    },
    get cacheBytes() {
      return groups.reduce((sum, group) => sum + groupBytes(group, 0), 0);
    },
    idle,
  };
}

/** Rows of one `run()`. */
const maxRowsPerRun = 64;

/** While a batch grows its old and its new caches are there at once, and the old ones are half as large. */
const growing = 1.5;

function groupBytes(
  { weights, capacity, rows }: Pick<RowGroup, "weights" | "capacity" | "rows">,
  more: number,
): number {
  const rounded = roundRows(Math.max(1, rows + more));
  return growing * cacheBytes(weights.config, rounded, capacity) + 2 * 4 * rounded * weights.config.vocabularySize;
}

/** What a request takes when nothing else runs: one of its completions at a time, or all of its beams. */
export function leastBytes(job: Pick<Job, "weights" | "context">): number {
  const { n, beamSearch } = job.context.request;
  const group = { weights: job.weights, capacity: finalCapacity(job.context), rows: 0 };
  return groupBytes(group, beamSearch ? n : 1) + promptBytes(job) + answerBytes(job.context);
}

/** Lets timers, messages and other callbacks run. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
