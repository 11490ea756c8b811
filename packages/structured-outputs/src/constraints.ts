import type { StructuredOutput } from "./structured-output.js";
import { createHash } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { Sharer } from "@heddle/concurrency";
import { FailedConstraints } from "./failed-constraints.js";
import type { GrammarThread, ThreadSession, TimeLimits } from "./grammar-thread.js";
import { grammarThread } from "./grammar-thread.js";
import type { GrammarWorkerData, GrammarWorkerValue } from "./grammar-worker-protocol.js";

/** The used properties of a tokenizer. */
export interface ConstraintVocabulary {
  vocabularySize: number;
  tokenBytes(id: number): Uint8Array;
  specialIds: ReadonlySet<number>;
  eosIds: readonly number[];
}

interface ConstraintLimits extends TimeLimits {
  /** A constraint with a longer step is served by the thread for slow constraints. */
  slowMs: number;
  /** Memory limit of all grammars of one of the two threads. */
  memoryBytes: number;
  cachedGrammars: number;
  /** Maximum length of a constraint as JSON. */
  characters: number;
}

export interface ConstraintOptions {
  /** Logits per row, if the model has more than the tokenizer has tokens. */
  vocabularySize?: number;
  /** Default: those of the tokenizer. */
  eosIds?: readonly number[];
  limits?: Partial<ConstraintLimits>;
}

export interface NextTokens {
  /** Bit `t & 31` of word `t >>> 5` is 1 if token t is allowed. At least one is. The caller may change the array. */
  mask: Int32Array;
  /** The text is complete: only end-of-text is allowed. */
  onlyEos: boolean;
}

/** The constraint of one completion. */
export interface ConstraintSession {
  /** Returns the tokens allowed after the accepted ones. Their computation starts with `accept`. */
  next(): Promise<NextTokens>;
  /** Accepts a sampled token, including end-of-text. Errors are reported by `next`. */
  accept(token: number): void;
  /** Validates JSON against its schema after end-of-text. Rejects with `failed` and the location in the value. */
  verify(): Promise<void>;
  close(): void;
}

/** For whom a constraint is compiled and followed, and what ends its compilation. */
export interface ConstraintWork {
  sharer?: Sharer | undefined;
  signal?: AbortSignal | undefined;
}

export interface Constraints {
  /**
   * Opens a session for one completion. Compiled constraints are cached, and failed ones remembered. Rejects with
   * `invalid` or `too_large` and the location in the constraint, with `rate_limited` or `busy` when too many wait, with
   * `aborted`, or with `unsupported` if the grammar library is not installed.
   */
  compile(output: StructuredOutput, work?: ConstraintWork): Promise<ConstraintSession>;
  close(): Promise<void>;
}

const defaultLimits: ConstraintLimits = {
  startMs: 60_000,
  compileMs: 10_000,
  stepMs: 5_000,
  slowMs: 400,
  memoryBytes: 512 * 2 ** 20,
  cachedGrammars: 64,
  characters: 256 * 1024,
};

/** Maximum number of constraints that are remembered as fast. */
const maxFastConstraints = 1_024;
/** Steps of fast constraints are short: some are sent at once, so that the thread does not wait for this one. */
const fastWindow = { window: 16, windowPerEntity: 12 };
const slowWindow = { window: 1, windowPerEntity: 1 };

interface Threads {
  fast: GrammarThread;
  /** An entity has one of them at a time; the second is started when the first has work of others. */
  slow: readonly [GrammarThread, GrammarThread];
}

/**
 * Opens structured outputs for one vocabulary. The threads are started by the first `compile`. One serves constraints
 * that were fast, the others new and slow constraints, so that fast ones do not wait for them, nor one entity for another.
 */
export function openConstraints(vocabulary: ConstraintVocabulary, options: ConstraintOptions = {}): Constraints {
  const limits = { ...defaultLimits, ...options.limits };
  const fastConstraints = new Set<string>();
  const failed = new FailedConstraints();
  /** The slow thread of each entity that has sessions there, and how many. */
  const slowThreads = new Map<string, { thread: GrammarThread; sessions: number }>();
  let threads: Threads | undefined;
  let closed = false;
  let sessions = 0;
  return {
    async compile(given, work = {}) {
      if ((options.eosIds ?? vocabulary.eosIds).length === 0) {
        throw new HeddleError("unsupported", "Structured outputs need a tokenizer with an end-of-text token.");
      }
      const text = constraintJson(given, limits.characters);
      const opened = openThreads();
      const digest = createHash("sha256").update(text).digest("base64");
      const check = () => failed.check(digest);
      check();
      try {
        if (!fastConstraints.has(digest)) {
          const trial = await startSession("slow", text, check, work);
          if (trial.slow) return constraintSession(trial);
          closeSession(trial);
          if (fastConstraints.size >= maxFastConstraints) fastConstraints.clear();
          fastConstraints.add(digest);
        }
        return constraintSession(await startSession(opened.fast, text, check, work));
      } catch (error) {
        failed.remember(digest, error);
        throw error;
      }
    },
    async close() {
      closed = true;
      await Promise.all(threads ? [threads.fast, ...threads.slow].map((thread) => thread.close()) : []);
    },
  };

  function openThreads(): Threads {
    if (closed) throw new HeddleError("aborted", "The constraints of this sampler are closed.");
    if (threads) return threads;
    const data = workerData(vocabulary, options, limits);
    const slowThread = () => grammarThread(data, { limits, ...slowWindow });
    threads = { fast: grammarThread(data, { limits, ...fastWindow }), slow: [slowThread(), slowThread()] };
    threads.slow[0].warmUp();
    threads.fast.warmUp();
    return threads;
  }

  async function startSession(
    wanted: GrammarThread | "slow",
    text: string,
    before: () => void,
    { sharer, signal }: ConstraintWork,
  ): Promise<StartedSession> {
    if (signal?.aborted) throw abortedError();
    const output = JSON.parse(text) as StructuredOutput;
    const session: ThreadSession = { id: ++sessions, sharer, output, tokens: [], sentTokens: 0 };
    const thread = wanted === "slow" ? takeSlowThread(session) : wanted;
    const leave = () => thread.closeSession(session);
    signal?.addEventListener("abort", leave, { once: true });
    try {
      const first = await thread.ask(session, "advance", before);
      return { thread, session, first, slow: isSlow(first) };
    } catch (error) {
      closeSession({ thread, session });
      throw error;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  /** The thread of the entity's other slow sessions, else the one with the least work. */
  function takeSlowThread({ sharer }: ThreadSession): GrammarThread {
    const [first, second] = openThreads().slow;
    const entity = sharer?.entity ?? "";
    const known = slowThreads.get(entity);
    const thread = known?.thread ?? (second.load < first.load ? second : first);
    slowThreads.set(entity, { thread, sessions: (known?.sessions ?? 0) + 1 });
    return thread;
  }

  function closeSession({ thread, session }: { thread: GrammarThread; session: ThreadSession }): void {
    thread.closeSession(session);
    const entity = session.sharer?.entity ?? "";
    const known = slowThreads.get(entity);
    if (known?.thread !== thread) return;
    if (known.sessions > 1) known.sessions -= 1;
    else slowThreads.delete(entity);
  }

  function isSlow({ tookMs = 0 }: GrammarWorkerValue): boolean {
    return tookMs > limits.slowMs;
  }

  function constraintSession({ thread, session, first }: StartedSession): ConstraintSession {
    let [current, servingThread] = [session, thread];
    let nextTokens = Promise.resolve(first);
    let ended = false;
    /** Accepted tokens whose masks are not known yet. */
    let outstanding = 0;
    return {
      async next() {
        const { mask, onlyEos } = await nextTokens;
        if (!mask) throw new HeddleError("failed", "The constraint thread returned no mask.");
        return { mask: mask.slice(), onlyEos: onlyEos === true };
      },
      accept(token) {
        if (ended) return;
        current.tokens.push(token);
        outstanding++;
        const asked = servingThread.ask(current, "advance");
        const before = nextTokens;
        nextTokens = asked.then(async (value) => {
          // The first error is kept.
          await before;
          outstanding--;
          // Others that are on their way would be lost with the session there.
          if (isSlow(value) && outstanding === 0) moveToSlowThread();
          return value;
        });
        // `next` may never be called.
        nextTokens.catch(() => {});
      },
      async verify() {
        await nextTokens;
        await servingThread.ask(current, "verify");
      },
      close() {
        if (!ended) closeSession({ thread: servingThread, session: current });
        ended = true;
      },
    };

    /** Continues in the thread for slow constraints from the next token. */
    function moveToSlowThread(): void {
      if (ended || servingThread !== threads?.fast) return;
      closeSession({ thread: servingThread, session: current });
      current = { ...current, id: ++sessions, sentTokens: 0, closed: false };
      delete current.worker;
      servingThread = takeSlowThread(current);
    }
  }
}

function abortedError(): HeddleError {
  return new HeddleError("aborted", "The completion of the constraint was aborted.");
}

interface StartedSession {
  thread: GrammarThread;
  session: ThreadSession;
  first: GrammarWorkerValue;
  slow: boolean;
}

function workerData(
  vocabulary: ConstraintVocabulary,
  options: ConstraintOptions,
  limits: ConstraintLimits,
): GrammarWorkerData {
  const eosIds = [...(options.eosIds ?? vocabulary.eosIds)];
  const hiddenTokens = new Set([...vocabulary.specialIds, ...eosIds]);
  const ends = new Uint32Array(vocabulary.vocabularySize);
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let token = 0; token < ends.length; token++) {
    const bytes = hiddenTokens.has(token) ? new Uint8Array() : vocabulary.tokenBytes(token);
    parts.push(bytes);
    length += bytes.length;
    ends[token] = length;
  }
  const vocabularySize = Math.max(options.vocabularySize ?? 0, vocabulary.vocabularySize);
  const { memoryBytes, cachedGrammars } = limits;
  return { bytes: new Uint8Array(Buffer.concat(parts)), ends, vocabularySize, eosIds, memoryBytes, cachedGrammars };
}

/**
 * Returns a copy of the constraint that is JSON, without functions, cycles and getters. Throws `too_large` above
 * `limit` characters.
 */
function constraintJson(output: StructuredOutput, limit: number): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(output);
  } catch {
    // Reported below.
  }
  if (text === undefined) throw new HeddleError("invalid", "The constraint must be JSON.");
  if (text.length > limit) {
    throw new HeddleError("too_large", `The constraint has ${text.length} characters, ${limit} are allowed.`);
  }
  return text;
}
