import type { Tokenizer } from "@heddle/chat-format";
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
  tokenizer: Tokenizer;
  message: MessageOptions;
  details: ResponseDetails;
}

/** What responses have besides the messages. */
export interface ResponseDetails {
  logprobs: boolean;
  tokenIds: boolean;
  /** Tokens are named `token_id:<id>`. */
  tokensById: boolean;
  reasoning: boolean;
}

/** What is requested; by default choices of trained models have all that training needs. */
export function responseDetails(request: CompletionRun["request"], { trained }: ServedModel): ResponseDetails {
  const isTrained = trained !== undefined;
  return {
    logprobs: request.logprobs ?? isTrained,
    tokenIds: request.return_token_ids ?? isTrained,
    tokensById: request.return_tokens_as_token_ids ?? isTrained,
    reasoning: request.include_reasoning,
  };
}

export function messageOptions({ parallel_tool_calls }: CompletionRun["request"], plan: SamplingPlan): MessageOptions {
  return {
    opensReasoning: plan.prompt.opensReasoning,
    readsToolCalls: plan.choice.kind !== "none",
    oneToolCall: !parallel_tool_calls,
  };
}
