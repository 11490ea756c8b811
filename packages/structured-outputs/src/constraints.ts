import type { StructuredOutput } from "./structured-output.js";
import { createHash } from "node:crypto";
import { HeddleError } from "@heddle/errors";
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

export interface Constraints {
  /**
   * Opens a session for one completion. Compiled constraints are cached. Rejects with `invalid` or `too_large` and the
   * location in the constraint, or with `unsupported` if the grammar library is not installed.
   */
  compile(output: StructuredOutput): Promise<ConstraintSession>;
  close(): Promise<void>;
}

const defaultLimits: ConstraintLimits = {
  startMs: 60_000,
  compileMs: 15_000,
  stepMs: 5_000,
  slowMs: 400,
  memoryBytes: 512 * 2 ** 20,
  cachedGrammars: 64,
  characters: 256 * 1024,
};

/** Maximum number of constraints that are remembered as fast. */
const maxFastConstraints = 1_024;

/**
 * Opens structured outputs for one vocabulary. The threads are started by the first `compile`. One serves new and slow
 * constraints, the other constraints that were fast, so that those do not wait for slow ones.
 */
export function openConstraints(vocabulary: ConstraintVocabulary, options: ConstraintOptions = {}): Constraints {
  const limits = { ...defaultLimits, ...options.limits };
  const fastConstraints = new Set<string>();
  let threads: { slow: GrammarThread; fast: GrammarThread } | undefined;
  let closed = false;
  let sessions = 0;
  return {
    async compile(given) {
      if ((options.eosIds ?? vocabulary.eosIds).length === 0) {
        throw new HeddleError("unsupported", "Structured outputs need a tokenizer with an end-of-text token.");
      }
      const text = constraintJson(given, limits.characters);
      const { slow, fast } = openThreads();
      const digest = createHash("sha256").update(text).digest("base64");
      if (!fastConstraints.has(digest)) {
        const trial = await startSession(slow, text);
        if (trial.slow) return constraintSession(trial);
        slow.closeSession(trial.session);
        if (fastConstraints.size >= maxFastConstraints) fastConstraints.clear();
        fastConstraints.add(digest);
      }
      return constraintSession(await startSession(fast, text));
    },
    async close() {
      closed = true;
      await Promise.all([threads?.slow.close(), threads?.fast.close()]);
    },
  };

  function openThreads() {
    if (closed) throw new HeddleError("aborted", "The constraints of this sampler are closed.");
    if (threads) return threads;
    const data = workerData(vocabulary, options, limits);
    threads = { slow: grammarThread(data, limits), fast: grammarThread(data, limits) };
    threads.slow.warmUp();
    threads.fast.warmUp();
    return threads;
  }

  async function startSession(thread: GrammarThread, text: string): Promise<StartedSession> {
    const output = JSON.parse(text) as StructuredOutput;
    const session: ThreadSession = { id: ++sessions, output, tokens: [], sentTokens: 0 };
    try {
      const first = await thread.ask(session, "advance");
      return { thread, session, first, slow: isSlow(first) };
    } catch (error) {
      thread.closeSession(session);
      throw error;
    }
  }

  function isSlow({ tookMs = 0 }: GrammarWorkerValue): boolean {
    return tookMs > limits.slowMs;
  }

  function constraintSession({ thread, session, first }: StartedSession): ConstraintSession {
    let [current, servingThread] = [session, thread];
    let nextTokens = Promise.resolve(first);
    let ended = false;
    return {
      async next() {
        const { mask, onlyEos } = await nextTokens;
        if (!mask) throw new HeddleError("failed", "The constraint thread returned no mask.");
        return { mask: mask.slice(), onlyEos: onlyEos === true };
      },
      accept(token) {
        if (ended) return;
        current.tokens.push(token);
        const asked = servingThread.ask(current, "advance");
        const before = nextTokens;
        nextTokens = asked.then(async (value) => {
          // The first error is kept.
          await before;
          if (isSlow(value)) moveToSlowThread();
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
        if (!ended) servingThread.closeSession(current);
        ended = true;
      },
    };

    /** Continues in the thread for slow constraints from the next token. */
    function moveToSlowThread(): void {
      if (ended || !threads || servingThread === threads.slow) return;
      servingThread.closeSession(current);
      current = { id: ++sessions, output: current.output, tokens: current.tokens, sentTokens: 0 };
      servingThread = threads.slow;
    }
  }
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
