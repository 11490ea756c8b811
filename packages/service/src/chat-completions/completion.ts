import type { ResponseSchemas } from "@heddle/server-stub/training";
import type { Completion, GenerateResult } from "@heddle/training";
import { alternativesOf } from "./completion-memory.js";
import type { CompletionRun, ResponseDetails } from "./completion-run.js";
import { parseMessage } from "./message-parser.js";
import { logprobsOf, promptLogprobsOf } from "./token-entries.js";

type ChatCompletion = ResponseSchemas["ChatCompletion"];
type Choice = ResponseSchemas["ChatCompletionChoice"];
type Usage = ResponseSchemas["ChatCompletionUsage"];

/** The response to a request that is not streamed. */
export function completionOf(
  run: CompletionRun,
  result: GenerateResult,
  details: ResponseDetails = run.details,
): ChatCompletion {
  const { prompt } = run.plan;
  const { promptLogprobs, completions } = result;
  const naming = { tokenizer: run.tokenizer, byId: details.tokensById };
  const tokens = completions.reduce((sum, completion) => sum + completion.tokens.length, 0);
  return {
    id: run.id,
    object: "chat.completion",
    created: run.created,
    model: run.request.model ?? "",
    checkpoint_step: run.model.trained?.checkpoint.step ?? null,
    choices: completions.map((completion) => choiceOf(run, completion, details)),
    usage: usageOf(prompt.ids.length, tokens, result.cachedTokens),
    service_tier: null,
    system_fingerprint: null,
    prompt_logprobs: promptLogprobs === undefined ? null : promptLogprobsOf(promptLogprobs, naming),
    prompt_token_ids: details.tokenIds ? [...prompt.ids] : null,
    kv_transfer_params: null,
  };
}

export function usageOf(promptTokens: number, completionTokens: number, cachedTokens = 0): Usage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(cachedTokens > 0 && { prompt_tokens_details: { cached_tokens: cachedTokens } }),
  };
}

function choiceOf(run: CompletionRun, completion: Completion, details: ResponseDetails): Choice {
  const { index, text, tokens, stopReason } = completion;
  const naming = { tokenizer: run.tokenizer, byId: details.tokensById };
  const { content, reasoning, toolCalls } = parseMessage(text, run.message);
  const shownReasoning = details.reasoning && reasoning !== "" ? reasoning : null;
  const withPrompt = run.plan.prompt.echo + content;
  return {
    index,
    message: {
      role: "assistant",
      content: withPrompt === "" && toolCalls.length > 0 ? null : withPrompt,
      refusal: null,
      annotations: null,
      audio: null,
      function_call: null,
      ...(toolCalls.length > 0 && {
        tool_calls: toolCalls.map(({ id, name, arguments: given }) => ({
          id,
          type: "function" as const,
          function: { name, arguments: given },
        })),
      }),
      reasoning: shownReasoning,
      reasoning_content: shownReasoning,
    },
    logprobs: details.logprobs ? logprobsOf(tokens, naming, alternativesOf(run)) : null,
    finish_reason: finishReasonOf(run, completion, toolCalls.length > 0),
    stop_reason: stopReason,
    token_ids: details.tokenIds ? tokens.map(({ token }) => token) : null,
    prompt_token_ids: details.choicesForTraining ? [...run.plan.prompt.ids] : null,
    checkpoint_step: details.choicesForTraining ? (run.model.trained?.checkpoint.step ?? null) : null,
    call_id: details.choicesForTraining ? (run.callId ?? null) : null,
  };
}

export function finishReasonOf(
  { plan }: CompletionRun,
  { finishReason }: Completion,
  callsTools: boolean,
): Choice["finish_reason"] {
  const isCall = callsTools && finishReason === "stop" && plan.choice.kind !== "named";
  return isCall ? "tool_calls" : finishReason;
}
