import { EngineError } from "../../engine-error.js";
import type { StructuredOutput } from "../../port.js";
import { grammarThread, type ThreadSession, type TimeLimits } from "./grammar-thread.js";
import type { WorkerData, WorkerValue } from "./worker-protocol.js";

/** What constraints need to know of a tokenizer. */
export interface ConstraintVocabulary {
  vocabularySize: number;
  tokenBytes(id: number): Uint8Array;
  specialIds: ReadonlySet<number>;
  eosIds: readonly number[];
}

interface ConstraintLimits extends TimeLimits {
  /** For all grammars of this sampler together. */
  memoryBytes: number;
  cachedGrammars: number;
  /** Of one constraint, written as JSON. */
  characters: number;
}

export interface ConstraintOptions {
  /** Logits per row, where the model has more than the tokenizer. */
  vocabularySize?: number;
  /** Instead of the tokenizer's. */
  eosIds?: readonly number[];
  limits?: Partial<ConstraintLimits>;
}

export interface NextTokens {
  /** Bit `t & 31` of word `t >>> 5` is 1 where token t may follow; at least one is. The caller's to change. */
  mask: Int32Array;
  /** The text is complete and cannot go on: only end-of-text may follow. */
  onlyEnd: boolean;
}

/** The constraint of one completion. */
export interface ConstraintSession {
  /** What may follow the tokens accepted so far. It is computed from `accept` on, while the caller does something else. */
  next(): Promise<NextTokens>;
  /** Takes the sampled token, end-of-text too. Trouble shows in `next`. */
  accept(token: number): void;
  /** After end-of-text: JSON is checked against its schema once more. Rejects `failed` with the place. */
  verify(): Promise<void>;
  close(): void;
}

export interface Constraints {
  /**
   * One session per completion; a constraint compiled before is ready at once. Rejects `invalid` or `too_large` with the place in
   * the constraint, `unsupported` where the grammar library is not installed.
   */
  compile(output: StructuredOutput): Promise<ConstraintSession>;
  close(): Promise<void>;
}

const defaultLimits: ConstraintLimits = {
  startMs: 60_000,
  compileMs: 15_000,
  stepMs: 5_000,
  memoryBytes: 512 * 2 ** 20,
  cachedGrammars: 64,
  characters: 256 * 1024,
};

/** Structured outputs for one vocabulary. No thread is started before the first `compile`. */
export function openConstraints(vocabulary: ConstraintVocabulary, options: ConstraintOptions = {}): Constraints {
  const limits = { ...defaultLimits, ...options.limits };
  const thread = grammarThread(workerData(vocabulary, options, limits), limits);
  let sessions = 0;
  return {
    async compile(output) {
      if ((options.eosIds ?? vocabulary.eosIds).length === 0) {
        throw new EngineError("unsupported", "Structured outputs need a tokenizer with an end-of-text token.");
      }
      const session: ThreadSession = {
        id: ++sessions,
        output: plainCopy(output, limits.characters),
        tokens: [],
        told: 0,
      };
      try {
        return constraintSession(session, await thread.ask(session, "advance"));
      } catch (error) {
        thread.forget(session);
        throw error;
      }
    },
    close: () => thread.close(),
  };

  function constraintSession(session: ThreadSession, first: WorkerValue): ConstraintSession {
    let upcoming = Promise.resolve(first);
    let closed = false;
    return {
      async next() {
        const { mask, onlyEnd } = await upcoming;
        if (!mask) throw new EngineError("failed", "The constraint gave no mask.");
        return { mask: mask.slice(), onlyEnd: onlyEnd === true };
      },
      accept(token) {
        if (closed) return;
        session.tokens.push(token);
        const asked = thread.ask(session, "advance");
        const before = upcoming;
        upcoming = asked.then(async (value) => {
          // An earlier refusal stays the answer.
          await before;
          return value;
        });
        // Nobody may ever ask.
        upcoming.catch(() => {});
      },
      async verify() {
        await upcoming;
        await thread.ask(session, "verify");
      },
      close() {
        if (!closed) thread.forget(session);
        closed = true;
      },
    };
  }
}

function workerData(
  vocabulary: ConstraintVocabulary,
  options: ConstraintOptions,
  limits: ConstraintLimits,
): WorkerData {
  const eosIds = [...(options.eosIds ?? vocabulary.eosIds)];
  const hidden = new Set([...vocabulary.specialIds, ...eosIds]);
  const ends = new Uint32Array(vocabulary.vocabularySize);
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let token = 0; token < ends.length; token++) {
    const bytes = hidden.has(token) ? new Uint8Array() : vocabulary.tokenBytes(token);
    parts.push(bytes);
    length += bytes.length;
    ends[token] = length;
  }
  const vocabularySize = Math.max(options.vocabularySize ?? 0, vocabulary.vocabularySize);
  const { memoryBytes, cachedGrammars } = limits;
  return { bytes: new Uint8Array(Buffer.concat(parts)), ends, vocabularySize, eosIds, memoryBytes, cachedGrammars };
}

/** As JSON would carry it: no functions, no loops, no surprises while it is read; not larger than `limit`. */
function plainCopy(output: StructuredOutput, limit: number): StructuredOutput {
  let text: string | undefined;
  try {
    text = JSON.stringify(output);
  } catch {
    throw new EngineError("invalid", "The constraint must be plain JSON.");
  }
  if (text === undefined) throw new EngineError("invalid", "The constraint must be plain JSON.");
  if (text.length > limit) {
    throw new EngineError("too_large", `The constraint has ${text.length} characters, ${limit} are allowed.`);
  }
  return JSON.parse(text) as StructuredOutput;
}
