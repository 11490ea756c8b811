import type { ChatCompletion } from "@heddle/client/training";
import { messagesIn } from "./draft.js";
import type { Draft } from "./draft.js";
import { messageOf } from "./answer.js";
import type { Choice } from "./answer.js";

/** A token of an answer, and how likely two models find it. */
export interface ComparedToken {
  text: string;
  here: number;
  base: number;
}

/** What else shapes the prompt that the answer follows. */
const promptMembers = [
  "tools",
  "documents",
  "chat_template",
  "chat_template_kwargs",
  "reasoning_effort",
  "add_special_tokens",
];

/** A request that has a model read the conversation with its answer, instead of going on with it. It leaves no call behind. */
export function readingOf(draft: Draft, choice: Choice, model: string): string {
  const said = messageOf(choice);
  const answer =
    choice.reasoning === "" ? said : `${said.slice(0, -1)},"reasoning_content":${JSON.stringify(choice.reasoning)}}`;
  const shaping = promptMembers.flatMap((name) => {
    const json = draft.get(name);
    return json === undefined ? [] : [`${JSON.stringify(name)}:${json}`];
  });
  return `{${[
    `"model":${JSON.stringify(model)}`,
    `"messages":[${[...messagesIn(draft), answer].join(",")}]`,
    ...shaping,
    '"add_generation_prompt":false,"prompt_logprobs":0,"max_completion_tokens":1,"store":false',
  ].join(",")}}`;
}

type Reading = Pick<ChatCompletion, "prompt_logprobs">;

/** The tokens after the prompt, as both models read them; throws where they read other tokens. */
export function comparedTokens(here: Reading, base: Reading, promptTokens: number): ComparedToken[] {
  const [ours, theirs] = [here.prompt_logprobs ?? [], base.prompt_logprobs ?? []];
  if (ours.length === 0 || theirs.length === 0) throw new Error("The service gave no log-probabilities of the prompt.");
  if (ours.length !== theirs.length) throw new Error("The two models read the answer as other tokens.");
  return ours.slice(promptTokens).map((entry, at) => {
    const [id, token] = Object.entries(entry ?? {})[0] ?? [];
    const other = id === undefined ? undefined : theirs[promptTokens + at]?.[id];
    if (token === undefined || other === undefined) throw new Error("The two models read the answer as other tokens.");
    return { text: token.decoded_token ?? `token ${id}`, here: token.logprob, base: other.logprob };
  });
}

export const sumOf = (tokens: readonly ComparedToken[], of: "here" | "base"): number =>
  tokens.reduce((sum, token) => sum + token[of], 0);
