import { arrayItems, jsonType, memberOf, stringMember } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { leafAt } from "@heddle/trace-model";
import type { StoredCall } from "@heddle/trace-store";
import type { ResponseSchemas } from "@heddle/server-stub/training";

export type SkipReason = ResponseSchemas["SkippedCalls"]["reason"];

/** What a recorded chat completion says, as JSON texts. */
export interface CompletionCall {
  messages: JsonText[];
  /** A list; undefined if the model was offered none. */
  tools: JsonText | undefined;
  choice: JsonText;
  /** Ids of the tokens of the prompt, if the response has them. */
  promptTokenIds: JsonText | undefined;
  /** Id and step of the trained model that this service sampled, and the base model. */
  modelId: string | undefined;
  step: JsonText | undefined;
  baseModel: string | undefined;
}

/** Reads a call as a chat completion with one choice; else returns why it is none. */
export function readCompletionCall(call: StoredCall): CompletionCall | SkipReason {
  if (call.exception !== null) return "failed";
  if (call.ended_at === null) return "running";
  const messages = listAt(call.inputs, "messages");
  if (messages === undefined || messages.length === 0) return "no_messages";
  const choices = listAt(call.output, "choices");
  const [choice, second] = choices ?? [];
  if (choice === undefined || jsonType(leafAt(choice, ["message"]) ?? "null") !== "object") return "no_choice";
  if (second !== undefined) return "several_choices";
  const tools = listAt(call.inputs, "tools");
  const heddle = leafAt(call.attributes, ["heddle"]) ?? "{}";
  return {
    messages,
    tools: tools === undefined || tools.length === 0 ? undefined : `[${tools.join(",")}]`,
    choice,
    promptTokenIds: leafAt(choice, ["prompt_token_ids"]) ?? leafAt(call.output, ["prompt_token_ids"]),
    modelId: stringMember(heddle, "model_id"),
    step: leafAt(heddle, ["checkpoint_step"]),
    baseModel: stringMember(heddle, "base_model"),
  };
}

/** Whether log-probabilities of at least one token were recorded. */
export function hasLogprobs({ choice }: CompletionCall): boolean {
  const logprobs = leafAt(choice, ["logprobs"]) ?? "null";
  return ["content", "refusal"].some((name) => (listAt(logprobs, name)?.length ?? 0) > 0);
}

/** The items of a list that is a member of an object; undefined if there is no such list. */
function listAt(text: JsonText, name: string): JsonText[] | undefined {
  const value = jsonType(text) === "object" ? memberOf(text, name) : undefined;
  return value !== undefined && jsonType(value) === "array" ? arrayItems(value) : undefined;
}
