import { contentText } from "../text/chat-messages.js";
import { listAt, invalidAt, objectAt } from "./field-checks.js";
import type { History } from "./groups.js";
import type { KnownTokens, SampledTokens } from "./sampled-tokens.js";
import { readIds, readSampledTokens } from "./sampled-tokens.js";

/** Why a history, or a turn of it, is not trained. */
export interface Reason {
  code: "no_choices" | "no_logprobs" | "no_tokens" | "tool_calls" | "template" | "too_long";
  path: string;
  message: string;
}

/** An element of a history: a message that is context, or one that is trained with these tokens. */
export interface Turn {
  path: string;
  message: Record<string, unknown>;
  trained?: { tokens: SampledTokens; promptIds?: Int32Array };
}

/**
 * The turns of a history up to the last that is trained; none when nothing is, with the reasons. Trained are choices (and
 * assistant messages with the same fields) whose log-probabilities were recorded; `withoutLogprobs`: all assistant turns.
 */
export function readTurns(
  { path, messagesAndChoices }: History,
  known: KnownTokens,
  { withoutLogprobs }: { withoutLogprobs: boolean },
): { turns: Turn[]; reasons: Reason[] } {
  const reasons: Reason[] = [];
  let choices = 0;
  const turns = messagesAndChoices.map((value, index): Turn => {
    const place = `${path}.messages_and_choices.${index}`;
    const element = objectAt(value, place);
    const choice = "message" in element;
    const message = choice ? choiceMessage(element["message"], `${place}.message`) : element;
    const role = message["role"];
    if (typeof role !== "string" || role === "")
      throw invalidAt(choice ? `${place}.message.role` : `${place}.role`, "not a text");
    if (choice) choices++;
    const turn: Turn = { path: place, message };
    if (role !== "assistant") return turn;
    const tokens = readSampledTokens(element, place, known);
    if (!tokens?.reported && !withoutLogprobs) {
      if (choice) reasons.push({ code: "no_logprobs", path: place, message: "the choice has no log-probabilities" });
      return turn;
    }
    const learned = tokens ?? encodedContent(message, place, known, reasons);
    if (!learned) return turn;
    if (learned.ids.length === 0) {
      reasons.push({ code: "no_tokens", path: place, message: "nothing was sampled" });
      return turn;
    }
    const prompt = element["prompt_token_ids"];
    const recorded = tokens && prompt !== undefined && prompt !== null;
    const promptIds = recorded ? readIds(prompt, `${place}.prompt_token_ids`, known) : undefined;
    return { ...turn, trained: { tokens: learned, promptIds } };
  });
  const last = turns.findLastIndex(({ trained }) => trained);
  if (last < 0 && reasons.length === 0) {
    const message = choices > 0 ? "no choice can be trained" : "no choices of chat completions, only messages";
    reasons.push({ code: "no_choices", path, message });
  }
  return { turns: turns.slice(0, last + 1), reasons };
}

function choiceMessage(value: unknown, path: string): Record<string, unknown> {
  const message = objectAt(value, path);
  const role = message["role"] ?? "assistant";
  if (role !== "assistant") throw invalidAt(`${path}.role`, "a choice is a message of the assistant");
  return { ...message, role };
}

/** Without recorded tokens: the content, with unknown log-probabilities. */
function encodedContent(
  message: Record<string, unknown>,
  path: string,
  { tokenizer }: KnownTokens,
  reasons: Reason[],
): SampledTokens | undefined {
  const calls = message["tool_calls"] ?? message["function_call"];
  if (calls !== undefined && calls !== null && !(Array.isArray(calls) && listAt(calls, path).length === 0)) {
    const message = "tool calls without recorded tokens cannot be trained";
    reasons.push({ code: "tool_calls", path, message });
    return undefined;
  }
  const { text } = contentText(message["content"], `${path}.content`);
  const ids = tokenizer.encode(text, { continued: true });
  return { ids, logprobs: new Float64Array(ids.length).fill(Number.NaN), reported: false };
}
