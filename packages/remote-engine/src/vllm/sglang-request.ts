import type { GenerateRequest } from "@heddle/training";
import { unsupportedFields } from "./completion-request.js";

type StructuredOutput = NonNullable<GenerateRequest["structuredOutput"]>;

/**
 * Returns the fields that SGLang's completions cannot honour, besides those that vLLM's cannot: their log-probabilities of other tokens
 * have texts in the place of token ids, and those of prompts are refused.
 */
export function sglangUnsupportedFields(request: Partial<GenerateRequest>): (keyof GenerateRequest)[] {
  const { topLogprobs, promptLogprobs, allowedTokenIds, beamSearch, repetitionDetection, structuredOutput } = request;
  const found = new Set(unsupportedFields(request));
  if (topLogprobs) found.add("topLogprobs");
  if (promptLogprobs !== undefined) found.add("promptLogprobs");
  if (allowedTokenIds) found.add("allowedTokenIds");
  if (beamSearch) found.add("beamSearch");
  if (repetitionDetection) found.add("repetitionDetection");
  if (structuredOutput && constraintOf(structuredOutput) === undefined) found.add("structuredOutput");
  return [...found];
}

/** Creates the body of `POST /v1/completions` of SGLang; see `completionBody`. */
export function sglangBody(
  request: GenerateRequest,
  { base, adapter }: { base: string; adapter: string | undefined },
  eosIds: readonly number[],
): Record<string, unknown> {
  const { stopTokenIds = [], ignoreEos = false, structuredOutput, topK = 0 } = request;
  return {
    model: base,
    ...(adapter !== undefined && { lora_path: adapter }),
    prompt: Array.from(request.prompt),
    n: request.n,
    max_tokens: request.maxTokens,
    min_tokens: request.minTokens ?? 0,
    temperature: request.temperature ?? 1,
    top_p: request.topP ?? 1,
    top_k: topK > 0 ? topK : -1,
    min_p: request.minP ?? 0,
    repetition_penalty: request.repetitionPenalty ?? 1,
    frequency_penalty: request.frequencyPenalty ?? 0,
    presence_penalty: request.presencePenalty ?? 0,
    ...(request.seed !== undefined && { seed: request.seed }),
    ...(request.logitBias && { logit_bias: Object.fromEntries(request.logitBias) }),
    stop: request.stop ?? [],
    stop_token_ids: ignoreEos ? stopTokenIds : [...new Set([...stopTokenIds, ...eosIds])],
    no_stop_trim: request.includeStop ?? false,
    ignore_eos: ignoreEos,
    skip_special_tokens: request.skipSpecialTokens ?? true,
    logprobs: 0,
    ...(structuredOutput && constraintOf(structuredOutput)),
    ...(request.cacheSalt !== undefined && { cache_salt: request.cacheSalt }),
    return_token_ids: true,
    stream: true,
    stream_options: { include_usage: true },
  };
}

/** Undefined for what SGLang has in another form or not at all. */
function constraintOf(output: StructuredOutput): Record<string, unknown> | undefined {
  switch (output.type) {
    case "json_schema":
      return output.whitespace === false ? undefined : { json_schema: JSON.stringify(output.schema) };
    case "json_object":
      return { json_schema: '{"type": "object"}' };
    case "regex":
      return { regex: output.regex };
    case "choice":
      return { regex: output.choices.map((choice) => choice.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|") };
    default:
      return undefined;
  }
}
