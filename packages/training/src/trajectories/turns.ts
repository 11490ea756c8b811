import type { ChatTemplate } from "@heddle/chat-format";
import type { Loc } from "@heddle/errors";
import { contentText } from "@heddle/chat-format";
import { listAt, invalidAt, objectAt } from "./field-checks.js";
import { messageFlag, trainFlag, withoutFlags } from "./train-flags.js";
import type { History } from "./groups.js";
import type { KnownTokens, SampledTokens } from "./sampled-tokens.js";
import { readIds, readSampledTokens } from "./sampled-tokens.js";
import type { TrainedTurn } from "./training-sequence.js";

/** A reason that somebody has chosen, in the data or the settings: it says nothing against the data. */
type ChosenReason = "excluded" | "truncated" | "off_policy";

/** The reason why a history or a turn is not trained. */
export interface Reason {
  code: "no_choices" | "no_logprobs" | "no_tokens" | "tool_calls" | "template" | "too_long" | ChosenReason;
  loc: Loc;
  message: string;
}

/** An element of a history: a message that is context, or one that is trained. */
export interface Turn {
  loc: Loc;
  message: Record<string, unknown>;
  trained?: TrainedTurn & { tokens: SampledTokens; promptIds?: Int32Array };
}

/** Which sampled turns are context only. */
export interface TurnSelection {
  /** Those that ended at the limit of tokens. */
  withoutTruncated?: boolean | undefined;
  /** Those that earlier weights than those of this step have sampled, where the turn or its trajectory names the step. */
  oldestStep?: number | undefined;
  /** Step of the weights that sampled turns which name none themselves. */
  defaultStep?: number | undefined;
}

/**
 * Returns the turns of a history up to the last trained one, and the reasons for untrained ones. Choices, and assistant
 * messages with the same fields, are trained if their log-probabilities were recorded; with `withoutLogprobs`, all
 * assistant turns are. Turns whose flags say so are context, as are those that the selection leaves out.
 */
export async function readTurns(
  { loc, messagesAndChoices, flags, advantages }: History & { advantages?: readonly number[] | undefined },
  known: KnownTokens,
  { withoutLogprobs, template, ...selection }: { withoutLogprobs: boolean; template: ChatTemplate } & TurnSelection,
): Promise<{ turns: Turn[]; reasons: Reason[] }> {
  const reasons: Reason[] = [];
  let choices = 0;
  const readTurn = async (value: unknown, index: number): Promise<Turn> => {
    const at = [...loc, "messages_and_choices", index];
    const element = objectAt(value, at);
    const choice = "message" in element;
    const message = choice ? choiceMessage(element["message"], [...at, "message"]) : element;
    const role = message["role"];
    if (typeof role !== "string" || role === "")
      throw invalidAt(
        choice ? [...at, "message", "role"] : [...at, "role"],
        "the role of a message must be text that is not empty",
      );
    if (choice) choices++;
    const turn: Turn = { loc: at, message: withoutFlags(message) as Record<string, unknown> };
    if (role !== "assistant") return turn;
    if ((messageFlag(message, at) ?? trainFlag(element, at) ?? flags?.[index]) === false) {
      reasons.push({ code: "excluded", loc: at, message: "its flags say that it is not trained" });
      return turn;
    }
    const unwanted = unwantedTurn(element, at, selection);
    if (unwanted) {
      reasons.push(unwanted);
      return turn;
    }
    const tokens = readSampledTokens(element, at, known);
    if (!tokens?.reported && !withoutLogprobs) {
      if (choice) reasons.push({ code: "no_logprobs", loc: at, message: "the choice has no log-probabilities" });
      return turn;
    }
    const learned = tokens ?? (await encodedContent(message, at, template, reasons));
    if (!learned) return turn;
    if (learned.ids.length === 0) {
      reasons.push({ code: "no_tokens", loc: at, message: "no token was sampled" });
      return turn;
    }
    const prompt = element["prompt_token_ids"];
    const recorded = tokens && prompt !== undefined && prompt !== null;
    const promptIds = recorded ? readIds(prompt, [...at, "prompt_token_ids"], known) : undefined;
    const step = tokens && stepAt(element, at);
    return { ...turn, trained: { tokens: learned, promptIds, step, advantage: advantages?.[index] } };
  };
  const turns: Turn[] = [];
  for (const [index, value] of messagesAndChoices.entries()) turns.push(await readTurn(value, index));
  const last = turns.findLastIndex(({ trained }) => trained);
  if (last < 0 && reasons.length === 0) {
    const message =
      choices > 0 ? "no choice can be trained" : "there are only messages, no choices of chat completions";
    reasons.push({ code: "no_choices", loc, message });
  }
  return { turns: turns.slice(0, last + 1), reasons };
}

function unwantedTurn(
  element: Record<string, unknown>,
  loc: Loc,
  { withoutTruncated, oldestStep, defaultStep }: TurnSelection,
): Reason | undefined {
  if (withoutTruncated && element["finish_reason"] === "length")
    return { code: "truncated", loc, message: "the completion was cut off at the limit of its tokens" };
  const step = stepAt(element, loc) ?? defaultStep;
  if (oldestStep === undefined || step === undefined || step >= oldestStep) return undefined;
  return { code: "off_policy", loc, message: `it was sampled at step ${step}; at least ${oldestStep} is trained` };
}

function stepAt(element: Record<string, unknown>, loc: Loc): number | undefined {
  const step = element["checkpoint_step"] ?? undefined;
  if (step === undefined || (typeof step === "number" && Number.isSafeInteger(step) && step >= 0)) return step;
  throw invalidAt([...loc, "checkpoint_step"], "checkpoint_step must be an integer from 0");
}

function choiceMessage(value: unknown, loc: Loc): Record<string, unknown> {
  const message = objectAt(value, loc);
  const role = message["role"] ?? "assistant";
  if (role !== "assistant") throw invalidAt([...loc, "role"], "the message of a choice must have the role assistant");
  return { ...message, role };
}

/** Returns the tokens of the content, with unknown log-probabilities, for a message without recorded tokens. */
async function encodedContent(
  message: Record<string, unknown>,
  loc: Loc,
  template: ChatTemplate,
  reasons: Reason[],
): Promise<SampledTokens | undefined> {
  const calls = message["tool_calls"] ?? message["function_call"];
  if (calls !== undefined && calls !== null && !(Array.isArray(calls) && listAt(calls, loc).length === 0)) {
    const message = "tool calls without recorded tokens cannot be trained";
    reasons.push({ code: "tool_calls", loc, message });
    return undefined;
  }
  const { text } = contentText(message["content"], [...loc, "content"]);
  const [ids = new Int32Array()] = await template.encode([text], { continued: true });
  return { ids, logprobs: new Float64Array(ids.length).fill(Number.NaN), reported: false };
}
