import { HeddleError } from "@heddle/errors";
import type { Completion, SampledToken } from "@heddle/training";
import type { Tokenizer } from "@heddle/chat-format";
import { createCompletionText } from "./completion-text.js";
import { drawToken, argmax } from "./draw.js";
import { createGenerator } from "./generator.js";
import { applyMask, logitControls } from "./logit-controls.js";
import { rawDistribution } from "./raw-distribution.js";
import { createRepetitionDetector } from "./repetition.js";
import type { SamplingRequest } from "./sampling-request.js";
import type { ConstraintSession, NextTokens } from "@heddle/structured-outputs";
import { truncatedWeights } from "./truncation.js";

/** Input that is common to all completions of a request. */
export interface CompletionContext {
  request: SamplingRequest;
  tokenizer: Pick<Tokenizer, "tokenBytes" | "specialIds" | "vocabularySize">;
  eosIds: readonly number[];
  /** Logits per row. Those beyond the tokenizer's vocabulary are padding and never drawn. */
  rowSize: number;
  /** Seed of the first completion. */
  seed: number;
}

/** A streamed step of a completion. `finished` is true for the last one. */
interface CompletionStep {
  token: SampledToken;
  text: string;
  finished: boolean;
}

/** Samples one completion. */
export interface CompletionSampler {
  readonly index: number;
  /** What was sampled so far. */
  readonly tokens: readonly SampledToken[];
  /** The model output that `sample` reads: probabilities, unless the request needs logits. */
  readonly source: "probabilities" | "logits";
  /** Computes the next tokens that the constraint allows. Must be awaited before each `sample`. */
  next(): Promise<NextTokens> | undefined;
  /**
   * Draws a token from the row that starts at `offset`. Throws `failed` if the model output is NaN, and `invalid` if no
   * token is allowed.
   */
  sample(output: Float32Array, offset: number, next?: NextTokens): CompletionStep;
  /** Verifies the constraint, then returns the completion. Must be called after the last step. */
  result(): Completion | Promise<Completion>;
  /** Frees the resources of the constraint. Idempotent. */
  close(): void;
}

export function createCompletionSampler(
  context: CompletionContext,
  index: number,
  constraint?: ConstraintSession,
): CompletionSampler {
  const { request, tokenizer, rowSize } = context;
  const { maxTokens, minTokens = 0, ignoreEos = false, topLogprobs = 0, stopTokenIds = [] } = request;
  const { temperature = 1, topK = 0, topP = 1, minP = 0 } = request;
  const drawableTokens = Math.min(rowSize, tokenizer.vocabularySize);
  const eosIds = new Set(context.eosIds);
  const stopIds = new Set(stopTokenIds);
  const ends = [...new Set([...(ignoreEos ? [] : eosIds), ...stopIds])];

  const controls = logitControls(request, request.prompt, ends);
  const unmodified = !controls && !constraint && topLogprobs === 0 && drawableTokens === rowSize;
  const untruncated = temperature === 1 && topK <= 0 && topP === 1 && minP === 0;
  const source = unmodified && (untruncated || temperature === 0) ? "probabilities" : "logits";
  const generator = createGenerator((context.seed + index) >>> 0);
  const repeats =
    request.repetitionDetection && request.repetitionDetection.maxPatternSize > 0
      ? createRepetitionDetector(request.repetitionDetection, maxTokens)
      : undefined;
  const output = createCompletionText(tokenizer, request);
  const tokens: SampledToken[] = [];
  let text = "";
  let end: Pick<Completion, "finishReason" | "stopReason"> | undefined;

  const choose = (weights: Float32Array | Float64Array, offset: number, size: number, sum: number): number => {
    if (temperature === 0) return argmax(weights, { offset, size });
    return drawToken(weights, { offset, size, sum, uniform: generator() });
  };
  const fromProbabilities = (row: Float32Array, offset: number): SampledToken => {
    const token = choose(row, offset, rowSize, 1);
    if (token < 0) throw invalidLogits();
    return { token, logprob: Math.log(row[offset + token]!), alternatives: [] };
  };
  const fromLogits = (row: Float32Array, offset: number, logits: Float64Array, next?: NextTokens): SampledToken => {
    const raw = rawDistribution(row, offset, rowSize);
    if (Number.isNaN(raw.logprob(0))) throw invalidLogits();
    logits.set(row.subarray(offset, offset + drawableTokens));
    const onlyEos = next?.onlyEos ?? false;
    if (controls) controls.apply(logits, next?.mask, onlyEos);
    else if (next) applyMask(logits, next.mask);
    // The constraint must not accept end-of-text before the completion ends, because it could not continue.
    if (next && ignoreEos && !onlyEos) for (const id of eosIds) logits[id] = -Infinity;
    const sum = temperature === 0 ? 1 : truncatedWeights(logits, { temperature, topK, topP, minP });
    const token = choose(logits, 0, drawableTokens, sum);
    if (token < 0) throw noTokenAllowed(request);
    return raw.withAlternatives(topLogprobs)(token);
  };
  /** Returns how the completion ends with this token, unless a stop string decides. */
  const endReason = (token: number, onlyEos: boolean): typeof end => {
    const repeated = repeats?.(token) ?? false;
    if (eosIds.has(token) && (!ignoreEos || onlyEos)) return { finishReason: "stop", stopReason: null };
    if (stopIds.has(token)) return { finishReason: "stop", stopReason: token };
    if (tokens.length >= maxTokens) return { finishReason: "length", stopReason: null };
    if (repeated && tokens.length >= minTokens) {
      return { finishReason: "repetition", stopReason: "repetition_detected" };
    }
    return undefined;
  };

  return {
    index,
    tokens,
    source,
    next: () => constraint?.next(),
    sample(row, offset, next) {
      const sampled =
        source === "logits"
          ? fromLogits(row, offset, scratchRow(drawableTokens), next)
          : fromProbabilities(row, offset);
      const { token } = sampled;
      tokens.push(sampled);
      controls?.recordToken(token);
      constraint?.accept(token);
      end = endReason(token, next?.onlyEos ?? false);
      const omitText = end?.finishReason === "stop" && !request.includeStop;
      const added = output.push(token, { omitText, matchStops: tokens.length > minTokens, last: end !== undefined });
      if (added.stop !== undefined && end?.finishReason !== "stop") {
        end = { finishReason: "stop", stopReason: added.stop };
      }
      text += added.text;
      return { token: sampled, text: added.text, finished: end !== undefined };
    },
    result() {
      if (!end) throw new HeddleError("failed", "the result was read before the completion had finished");
      const completion = { index, text, tokens, ...end };
      const closed = end.finishReason === "stop" && end.stopReason === null;
      return constraint && closed ? constraint.verify().then(() => completion) : completion;
    },
    close: () => constraint?.close(),
  };
}

let scratch = new Float64Array();

/** A buffer for one row of logits, shared by all completions: it is not needed after a token was sampled. */
function scratchRow(size: number): Float64Array {
  if (scratch.length < size) scratch = new Float64Array(size);
  return scratch.subarray(0, size);
}

export function invalidLogits(): HeddleError {
  return new HeddleError("failed", "the model's logits are NaN: its weights are invalid");
}

function noTokenAllowed({ allowedTokenIds, badWords, structuredOutput }: SamplingRequest): HeddleError {
  const field = allowedTokenIds ? "allowedTokenIds" : badWords ? "badWords" : "structuredOutput";
  const together = structuredOutput && field !== "structuredOutput" ? " together with the structured output" : "";
  return new HeddleError("invalid", `${field}${together} allows no next token`, { loc: [field] });
}
