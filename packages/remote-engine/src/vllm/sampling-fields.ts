import type { GenerateRequest } from "@heddle/training";

/**
 * Creates the members of the body of `POST /v1/completions` that vLLM and SGLang have in common. Every sampling parameter is
 * sent, because a server otherwise takes the defaults that the model was published with.
 *
 * @param eosIds tokens that end a completion. The server knows its own, which need not be those of the chat template.
 */
export function samplingFields(request: GenerateRequest, eosIds: readonly number[]): Record<string, unknown> {
  const { stopTokenIds = [], ignoreEos = false } = request;
  return {
    prompt: Array.from(request.prompt),
    n: request.n,
    max_tokens: request.maxTokens,
    min_tokens: request.minTokens ?? 0,
    temperature: request.temperature ?? 1,
    top_p: request.topP ?? 1,
    min_p: request.minP ?? 0,
    repetition_penalty: request.repetitionPenalty ?? 1,
    frequency_penalty: request.frequencyPenalty ?? 0,
    presence_penalty: request.presencePenalty ?? 0,
    ...(request.seed !== undefined && { seed: request.seed }),
    ...(request.logitBias && { logit_bias: Object.fromEntries(request.logitBias) }),
    stop: request.stop ?? [],
    stop_token_ids: ignoreEos ? stopTokenIds : [...new Set([...stopTokenIds, ...eosIds])],
    ignore_eos: ignoreEos,
    skip_special_tokens: request.skipSpecialTokens ?? true,
    ...(request.cacheSalt !== undefined && { cache_salt: request.cacheSalt }),
    return_token_ids: true,
  };
}
