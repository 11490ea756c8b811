import type { ChatTemplate, SharedWork } from "@heddle/chat-format";
import { HeddleError } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/training";
import type { GenerateRequest } from "@heddle/training";
import type { Constraint } from "./constraint.js";
import { outputConstraint } from "./output-constraint.js";
import { renderPrompt } from "./prompt.js";
import type { Prompt } from "./prompt.js";
import type { ServedModel } from "./served-models.js";
import { toolChoice, withAllowedTools } from "./tool-choice.js";
import type { ToolChoice } from "./tool-choice.js";

type ChatRequest = Schemas["ChatCompletionReq"];

/** What is generated for a request. */
export interface SamplingPlan {
  prompt: Prompt;
  generate: GenerateRequest;
  choice: ToolChoice;
  constraint?: Constraint;
}

/** Reads what a request asks the engine for. Throws `invalid` with the field. */
export async function samplingPlan(
  request: ChatRequest,
  { contextLength, weights }: ServedModel,
  template: ChatTemplate,
  work: SharedWork,
): Promise<SamplingPlan> {
  checkCombinations(request);
  const choice = toolChoice(request);
  const constraint = outputConstraint(request, choice);
  const prompt = await renderPrompt(withAllowedTools(request), contextLength, template, work);
  const maxTokens = maxTokensOf(request, prompt.ids.length, contextLength);
  const { seed, use_beam_search, repetition_detection: repetition } = request;
  const generate: GenerateRequest = {
    weights,
    prompt: prompt.ids,
    n: request.n,
    maxTokens,
    minTokens: Math.min(request.min_tokens, maxTokens),
    ...(seed !== undefined && { seed: engineSeed(seed) }),
    temperature: request.temperature,
    topP: request.top_p,
    topK: request.top_k,
    minP: request.min_p,
    repetitionPenalty: request.repetition_penalty,
    frequencyPenalty: request.frequency_penalty,
    presencePenalty: request.presence_penalty,
    logitBias: request.logit_bias && logitBias(request.logit_bias),
    allowedTokenIds: request.allowed_token_ids,
    badWords: request.bad_words && (await badWords(request.bad_words, template, work)),
    stop: typeof request.stop === "string" ? [request.stop] : request.stop,
    stopTokenIds: request.stop_token_ids,
    includeStop: request.include_stop_str_in_output,
    ignoreEos: request.ignore_eos,
    skipSpecialTokens: request.skip_special_tokens && !prompt.output.specialTags,
    topLogprobs: request.top_logprobs,
    promptLogprobs: request.prompt_logprobs,
    structuredOutput: constraint?.output,
    ...(request.cache_salt !== undefined && { cacheSalt: request.cache_salt }),
    ...(use_beam_search && { beamSearch: { lengthPenalty: request.length_penalty } }),
    ...(repetition && {
      repetitionDetection: {
        maxPatternSize: repetition.max_pattern_size,
        minPatternSize: repetition.min_pattern_size,
        minCount: repetition.min_count,
      },
    }),
  };
  return { prompt, generate, choice, ...(constraint && { constraint }) };
}

function checkCombinations(request: ChatRequest): void {
  const { stream, logprobs, top_logprobs } = request;
  if (request.stream_options !== undefined && !stream) throw invalid("stream_options", "needs stream to be true");
  if (request.prompt_logprobs !== undefined && stream) throw invalid("prompt_logprobs", "is not possible with stream");
  if (top_logprobs !== 0 && logprobs !== true) throw invalid("top_logprobs", "needs logprobs to be true");
  if (request.continue_final_message && request.add_generation_prompt) {
    throw invalid(
      "continue_final_message",
      "cannot be true while add_generation_prompt is, which is its default: set that to false",
    );
  }
}

function maxTokensOf(request: ChatRequest, promptTokens: number, contextLength: number): number {
  const given = request.max_completion_tokens ?? request.max_tokens;
  const left = contextLength - promptTokens;
  if (left < 1) {
    throw invalid(
      "messages",
      `the maximum context length is ${contextLength} tokens, and the prompt has ${promptTokens}`,
    );
  }
  if (given !== undefined && request.min_tokens > given)
    throw invalid("min_tokens", `is ${request.min_tokens}, and at most ${given} tokens were requested`);
  if (given === undefined || given <= left) return given ?? left;
  throw invalid(
    request.max_completion_tokens === undefined ? "max_tokens" : "max_completion_tokens",
    `the maximum context length is ${contextLength} tokens; the prompt has ${promptTokens} and ${given} more were requested`,
  );
}

/** Engines take an unsigned 32-bit integer; smaller seeds stay what they are. */
function engineSeed(seed: number): number {
  const bits = BigInt.asUintN(64, BigInt(seed));
  const [low, high] = [Number(bits & 0xffff_ffffn), Number(bits >> 32n)];
  return (low ^ Math.imul(high, 0x9e37_79b1)) >>> 0;
}

function logitBias(given: Readonly<Record<string, number>>): Map<number, number> {
  return new Map(
    Object.entries(given).map(([id, bias]) => {
      if (/^\d{1,9}$/.test(id)) return [Number(id), bias];
      throw new HeddleError("invalid", "is not a token id", { loc: ["logit_bias", id] });
    }),
  );
}

/** A word is spelt by other tokens where a space precedes it. */
async function badWords(words: readonly string[], template: ChatTemplate, work: SharedWork): Promise<Int32Array[]> {
  const spellings = words.flatMap((word) => [word, ` ${word.trimStart()}`]);
  const encoded = await template.encode(spellings, { continued: true }, work);
  return encoded.filter(({ length }) => length > 0);
}

function invalid(field: string, message: string): HeddleError {
  return new HeddleError("invalid", message, { loc: [field] });
}
