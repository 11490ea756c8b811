import type { TokenVocabulary } from "@heddle/chat-format";
import type { Schemas } from "@heddle/server-stub/training";
import type { MessageOptions } from "./message-parser.js";
import type { SamplingPlan } from "./sampling-plan.js";
import type { ServedModel } from "./served-models.js";

/** A request that is being completed, and what its response is to have. */
export interface CompletionRun {
  /** `chatcmpl-…` */
  id: string;
  /** Seconds since 1970. */
  created: number;
  request: Schemas["ChatCompletionReq"];
  model: ServedModel;
  plan: SamplingPlan;
  tokenizer: TokenVocabulary;
  message: MessageOptions;
  details: ResponseDetails;
  /** Of the call that it is recorded as. */
  callId?: string;
}

/** What responses have besides the messages. */
export interface ResponseDetails {
  logprobs: boolean;
  tokenIds: boolean;
  /** Each choice says what sampled it: clients put choices into trajectories, without the response around them. */
  choicesForTraining: boolean;
  /** Tokens are named `token_id:<id>`. */
  tokensById: boolean;
  reasoning: boolean;
}

/** What is requested; by default choices of trained models have all that training needs. */
export function responseDetails(request: CompletionRun["request"], { trained }: ServedModel): ResponseDetails {
  const isTrained = trained !== undefined;
  const tokenIds = request.return_token_ids ?? isTrained;
  return {
    logprobs: request.logprobs ?? isTrained,
    tokenIds,
    choicesForTraining: tokenIds && isTrained,
    tokensById: request.return_tokens_as_token_ids ?? isTrained,
    reasoning: request.include_reasoning,
  };
}

export function messageOptions(
  { parallel_tool_calls, tools }: CompletionRun["request"],
  { prompt, choice }: SamplingPlan,
): MessageOptions {
  // Calls that are required are constrained to the Hermes form, which also models without a form of their own can write.
  const format = choice.kind === "auto" ? (prompt.output.toolCalls ?? "hermes") : "hermes";
  return {
    opensReasoning: prompt.opensReasoning,
    reasoningTags: prompt.output.reasoning,
    ...(choice.kind !== "none" && { toolCalls: { format, tools } }),
    oneToolCall: !parallel_tool_calls,
  };
}
