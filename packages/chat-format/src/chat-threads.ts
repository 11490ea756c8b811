import { HeddleError } from "@heddle/errors";
import { FairThreads } from "@heddle/concurrency";
import type { TaskOptions } from "@heddle/concurrency";
import type { ChatRendering } from "./chat-rendering.js";
import { isLarger } from "./json-size.js";
import type { TemplateTasks } from "./template-worker.js";
import type { TokenVocabulary } from "./token-vocabulary.js";
import { readPackedVocabulary } from "./token-vocabulary.js";
import type { EncodeRequest, TokenizerTasks } from "./tokenizer-worker.js";

/** For whom something is done in threads that all share, and what ends it. */
export type SharedWork = Partial<Pick<TaskOptions, "sharer" | "signal">>;

/** Two: the second one serves others while the first is slow. */
const threads = 2;
const waiting = { waitingPerKey: 1000, waiting: 10_000 };

const templateHeapMb = 256;
const templateThreads = new FairThreads<TemplateTasks>({
  module: new URL("./template-worker.ts", import.meta.url),
  threads,
  resourceLimits: { maxOldGenerationSizeMb: templateHeapMb, stackSizeMb: 4 },
  ...waiting,
  messages: {
    key: `${waiting.waitingPerKey} requests of this key wait for their chat template to be rendered; try again later`,
    all: `${waiting.waiting} requests wait for their chat template to be rendered; try again later`,
  },
});

/** A tokenizer of a large vocabulary takes some hundred megabytes. */
const tokenizerHeapMb = 1024;
const shortTextHeapMb = 768;
const tokenizerTimeMs = 15_000;
const openTimeMs = 60_000;
/** Characters that are short: a few milliseconds, so that they do not wait for long ones of others. */
const maxShortText = 2048;

const tokenizerThreads = (maxOldGenerationSizeMb: number) =>
  new FairThreads<TokenizerTasks>({
    module: new URL("./tokenizer-worker.ts", import.meta.url),
    threads,
    resourceLimits: { maxOldGenerationSizeMb },
    ...waiting,
    messages: {
      key: `${waiting.waitingPerKey} texts of this key wait to be tokenized; try again later`,
      all: `${waiting.waiting} texts wait to be tokenized; try again later`,
    },
  });
const shortTextThreads = tokenizerThreads(shortTextHeapMb);
const longTextThreads = tokenizerThreads(tokenizerHeapMb);

/**
 * Renders in a thread, in turns by entity and key. Throws what `renderChat` throws, and `invalid` for a template that
 * takes longer than `timeMs` or exceeds the memory of the thread, which is then replaced.
 */
export async function renderInThread(
  rendering: ChatRendering,
  { timeMs, work }: { timeMs: number; work: SharedWork },
): Promise<string> {
  try {
    return await templateThreads.run("render", rendering, { ...work, sharer: work.sharer, timeMs });
  } catch (error) {
    throw withoutCapacity(error, (reason) => {
      const limit = reason.includes("memory") ? `used more than ${templateHeapMb} MB of memory` : "";
      const message = `chat template: template ${limit || `took longer than ${timeMs / 1000} s`}`;
      return new HeddleError("invalid", message);
    });
  }
}

/**
 * Opens the vocabulary of a Hugging Face directory. Its tokenizer is opened in a thread, which keeps it. Rejects as
 * `openTokenizer` does.
 */
export async function openVocabulary(directory: string): Promise<TokenVocabulary> {
  try {
    const options = { sharer: undefined, timeMs: openTimeMs };
    return readPackedVocabulary(await shortTextThreads.run("open", { directory }, options));
  } catch (error) {
    throw withoutCapacity(error, (reason) => new HeddleError("too_large", `tokenizer.json: opening it ${reason}`));
  }
}

/**
 * Tokenizes texts with the tokenizer of a directory, in a thread, in turns by entity and key. Throws what the tokenizer
 * throws, and `too_large` for texts that take too long.
 */
export async function encodeTexts(request: EncodeRequest, work: SharedWork = {}): Promise<Int32Array[]> {
  const used = isLarger(request.texts, maxShortText) ? longTextThreads : shortTextThreads;
  try {
    return await used.run("encode", request, { ...work, sharer: work.sharer, timeMs: tokenizerTimeMs });
  } catch (error) {
    throw withoutCapacity(
      error,
      (reason) => new HeddleError("too_large", `the text cannot be tokenized: it ${reason}`),
    );
  }
}

/** The most that the heaps of the threads take, in bytes. */
export function chatThreadHeaps(): { templates: number; texts: number } {
  return {
    templates: templateThreads.heapBytes ?? 0,
    texts: (shortTextThreads.heapBytes ?? 0) + (longTextThreads.heapBytes ?? 0),
  };
}

/** What waits and what is done at the moment, for tests and metrics. */
export function chatThreadLoad(): { templates: number; texts: number } {
  const texts = shortTextThreads.load.waiting + longTextThreads.load.waiting;
  return { templates: templateThreads.load.waiting, texts };
}

/** Replaces the error of a task that took too long or needed too much memory. */
function withoutCapacity(error: unknown, replace: (reason: string) => HeddleError): unknown {
  const isLimit = error instanceof HeddleError && error.code === "too_large" && limits.test(error.message);
  return isLimit ? replace(error.message) : error;
}

const limits = /^(takes longer than|needs more than) /;
