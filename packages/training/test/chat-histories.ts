import type { SequenceOptions } from "../src/trajectories/sequences.js";
import { trajectorySequences } from "../src/trajectories/sequences.js";
import { chatMl, openChatModel } from "@heddle/chat-format/testing";

/** ChatML on a small tokenizer. */
export const model = await openChatModel(chatMl);

export const user = (content: string) => ({ role: "user", content });
export const ids = (text: string) => [...model.tokenizer.encode(text)];

/** A choice as returned by a chat endpoint: tokens with log-probabilities -0.1, -0.2, … */
export function choice(text: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  const content = ids(text).map((id, index) => ({
    token: `token_id:${id}`,
    bytes: null,
    logprob: -(index + 1) / 10,
    top_logprobs: [],
  }));
  const message = { role: "assistant", content: text.replace("<|im_end|>", ""), refusal: null, tool_calls: null };
  return { finish_reason: "stop", index: 0, message, logprobs: { content, refusal: null }, ...more };
}

/** The sequences of one history with the location `t`. */
export function sequencesOf(
  elements: unknown[],
  options: Partial<SequenceOptions> = {},
  more: { tools?: unknown } = {},
) {
  const histories = [{ loc: ["t"], messagesAndChoices: elements, tools: more.tools }];
  return trajectorySequences({ histories }, { template: model, ...options });
}

/** The prompt before the answer to `hello`. */
export const prompt = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n";
