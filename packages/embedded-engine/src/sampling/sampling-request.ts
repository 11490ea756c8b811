import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import type { GenerateRequest, GenerateResult } from "@heddle/training";

/** A request without its weights, which are resolved separately. */
export type SamplingRequest = Omit<GenerateRequest, "weights">;
export type SamplingResult = Omit<GenerateResult, "weightsId">;

/** Limits that requests are validated against. */
export interface SamplingLimits {
  /** Logits per row. */
  vocabularySize: number;
  contextLength: number;
  /** Beams decoded at once. */
  maxBeams: number;
}

/** Maximum of completions of a request. */
const maxCompletions = 1024;
const maxSaltLength = 1024;

/**
 * Validates a request. Throws `invalid`, with the field, for empty or unknown tokens, settings out of range, a prompt
 * and `maxTokens` that exceed the context, and fields that beam search excludes.
 */
export function checkSamplingRequest(request: SamplingRequest, limits: SamplingLimits): void {
  const { prompt, n, maxTokens, minTokens = 0 } = request;
  const { vocabularySize, contextLength } = limits;
  if (prompt.length === 0) throw invalid(["prompt"], "a prompt needs at least one token");
  requireIntegers(["n"], [n], 1, maxCompletions);
  requireIntegers(["maxTokens"], [maxTokens], 1);
  if (prompt.length + maxTokens > contextLength) {
    throw new HeddleError(
      "invalid",
      `the prompt has ${prompt.length} tokens and ${maxTokens} more are requested; the context has ${contextLength}`,
      { loc: ["maxTokens"] },
    );
  }
  requireTokens(["prompt"], prompt, vocabularySize);
  requireIntegers(["minTokens"], [minTokens], 0, maxTokens);
  if (request.seed !== undefined) requireIntegers(["seed"], [request.seed], 0, 2 ** 32 - 1);
  requireNumber(["temperature"], request.temperature, (value) => value >= 0 && value < Infinity, "at least 0");
  requireNumber(["topP"], request.topP, (value) => value > 0 && value <= 1, "above 0 and at most 1");
  requireIntegers(["topK"], [request.topK ?? 0], -1);
  requireNumber(["minP"], request.minP, (value) => value >= 0 && value <= 1, "from 0 to 1");
  requireNumber(["repetitionPenalty"], request.repetitionPenalty, (value) => value > 0 && value < Infinity, "above 0");
  for (const name of ["frequencyPenalty", "presencePenalty"] as const) {
    requireNumber([name], request[name], (value) => value >= -2 && value <= 2, "from -2 to 2");
  }
  for (const name of ["topLogprobs", "promptLogprobs"] as const) requireIntegers([name], [request[name] ?? 0], -1);
  checkTokenSets(request, vocabularySize);
  request.stop?.forEach((stop, index) => {
    if (stop === "") throw invalid(["stop", index], "a stop string cannot be empty");
  });
  const { cacheSalt } = request;
  if (cacheSalt !== undefined && (cacheSalt.length === 0 || cacheSalt.length > maxSaltLength)) {
    throw invalid(["cacheSalt"], `has ${cacheSalt.length} characters; it may have 1 to ${maxSaltLength}`);
  }
  checkRepetition(request);
  if (request.beamSearch) checkBeamSearch(request, limits);
}

function checkTokenSets(request: SamplingRequest, vocabularySize: number): void {
  const { logitBias, allowedTokenIds, badWords = [], stopTokenIds = [] } = request;
  for (const [token, bias] of logitBias ?? []) {
    requireTokens(["logitBias"], [token], vocabularySize);
    if (!Number.isFinite(bias)) throw invalid(["logitBias", token], `${bias} is not a finite number`);
  }
  if (allowedTokenIds?.length === 0) throw invalid(["allowedTokenIds"], "no token is allowed");
  requireTokens(["allowedTokenIds"], allowedTokenIds ?? [], vocabularySize);
  requireTokens(["stopTokenIds"], stopTokenIds, vocabularySize);
  badWords.forEach((word, index) => {
    if (word.length === 0) throw invalid(["badWords", index], "a bad word needs at least one token");
    requireTokens(["badWords", index], word, vocabularySize);
  });
}

function checkRepetition({ repetitionDetection }: SamplingRequest): void {
  if (!repetitionDetection) return;
  const { maxPatternSize, minPatternSize, minCount } = repetitionDetection;
  requireIntegers(["repetitionDetection", "maxPatternSize"], [maxPatternSize], 0);
  requireIntegers(["repetitionDetection", "minPatternSize"], [minPatternSize], 0);
  requireIntegers(["repetitionDetection", "minCount"], [minCount], 2);
  if (maxPatternSize > 0 && minPatternSize > maxPatternSize) {
    throw invalid(
      ["repetitionDetection", "minPatternSize"],
      `${minPatternSize} is above maxPatternSize, ${maxPatternSize}`,
    );
  }
}

function checkBeamSearch(request: SamplingRequest, { maxBeams, vocabularySize }: SamplingLimits): void {
  requireNumber(["beamSearch", "lengthPenalty"], request.beamSearch?.lengthPenalty, Number.isFinite, "a finite number");
  requireIntegers(["n"], [request.n], 1, Math.min(maxBeams, vocabularySize));
  const { temperature = 1, topP = 1, topK = 0, minP = 0, minTokens = 0 } = request;
  const { repetitionPenalty = 1, frequencyPenalty = 0, presencePenalty = 0 } = request;
  const used: Record<string, boolean> = {
    temperature: temperature !== 1 && temperature !== 0,
    topP: topP !== 1,
    topK: topK > 0,
    minP: minP !== 0,
    minTokens: minTokens > 0,
    repetitionPenalty: repetitionPenalty !== 1,
    frequencyPenalty: frequencyPenalty !== 0,
    presencePenalty: presencePenalty !== 0,
    logitBias: (request.logitBias?.size ?? 0) > 0,
    allowedTokenIds: request.allowedTokenIds !== undefined,
    badWords: (request.badWords?.length ?? 0) > 0,
    stop: (request.stop?.length ?? 0) > 0,
    stopTokenIds: (request.stopTokenIds?.length ?? 0) > 0,
    structuredOutput: request.structuredOutput !== undefined,
    repetitionDetection: request.repetitionDetection !== undefined,
  };
  const fields = Object.keys(used).filter((field) => used[field]);
  if (fields.length > 0) throw invalid([fields[0]!], `beam search cannot be combined with ${fields.join(", ")}`);
}

function requireTokens(loc: Loc, tokens: ArrayLike<number>, vocabularySize: number): void {
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (Number.isInteger(token) && token >= 0 && token < vocabularySize) continue;
    throw invalid([...loc, i], `token ${token} is not in the vocabulary of ${vocabularySize}`);
  }
}

function requireIntegers(loc: Loc, values: number[], min: number, max = Number.MAX_SAFE_INTEGER): void {
  for (const value of values) {
    if (Number.isSafeInteger(value) && value >= min && value <= max) continue;
    const range = max === Number.MAX_SAFE_INTEGER ? `at least ${min}` : `from ${min} to ${max}`;
    throw invalid(loc, `${value} is not an integer ${range}`);
  }
}

function requireNumber(loc: Loc, value: number | undefined, fits: (value: number) => boolean, range: string): void {
  if (value !== undefined && !fits(value)) throw invalid(loc, `${value} is not ${range}`);
}

function invalid(loc: Loc, message: string): HeddleError {
  return new HeddleError("invalid", message, { loc });
}
