import { isDeepStrictEqual } from "node:util";
import type { Loc } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";
import { invalidAt, listAt, objectAt } from "./field-checks.js";

/** A prompt and two answers to it, each a message of the assistant. */
export interface PreferencePair {
  prompt: unknown[];
  chosen: Record<string, unknown>;
  rejected: Record<string, unknown>;
  tools: unknown;
}

/** A prompt and one answer to it that was rated. */
export interface RatedAnswer {
  prompt: unknown[];
  completion: Record<string, unknown>;
  desirable: boolean;
  tools: unknown;
}

const rowLoc: Loc = ["row"];

/**
 * Reads a row `{ prompt, chosen, rejected, tools? }`, or one without `prompt` whose `chosen` and `rejected` are the same
 * conversation up to their last messages. Throws `invalid` with the location of what is wrong.
 */
export function preferencePair(row: unknown): PreferencePair {
  const fields = objectAt(row, rowLoc);
  if (fields["label"] !== undefined && fields["chosen"] === undefined)
    throw invalidAt(
      [...rowLoc, "label"],
      "the row is a rating, which the objective kto trains; dpo needs chosen and rejected",
    );
  const { tools } = fields;
  const isWhole = fields["prompt"] === undefined || fields["prompt"] === null;
  if (!isWhole) {
    return {
      prompt: promptOf(fields["prompt"], "prompt"),
      chosen: answerOf(fields["chosen"], "chosen"),
      rejected: answerOf(fields["rejected"], "rejected"),
      tools,
    };
  }
  const [chosen, rejected] = ["chosen", "rejected"].map((name) => conversationOf(fields[name], name));
  if (!chosen || !rejected || !isDeepStrictEqual(chosen.prompt, rejected.prompt)) {
    const message = "without a prompt, chosen and rejected must be the same conversation up to their last messages";
    throw invalidAt([...rowLoc, "rejected"], message);
  }
  return { prompt: chosen.prompt, chosen: chosen.answer, rejected: rejected.answer, tools };
}

/** Reads a row `{ prompt, completion, label, tools? }`. Throws `invalid` with the location of what is wrong. */
export function ratedAnswer(row: unknown): RatedAnswer {
  const fields = objectAt(row, rowLoc);
  if (fields["chosen"] !== undefined && fields["label"] === undefined)
    throw invalidAt(
      [...rowLoc, "chosen"],
      "the row is a pair, which the objective dpo trains; kto needs completion and label",
    );
  const { label, tools } = fields;
  if (typeof label !== "boolean") throw invalidAt([...rowLoc, "label"], "label must be true or false");
  return {
    prompt: promptOf(fields["prompt"], "prompt"),
    completion: answerOf(fields["completion"], "completion"),
    desirable: label,
    tools,
  };
}

/** Whether an answer says nothing: it has neither text nor tool calls. */
export function isEmptyAnswer({ content, tool_calls: calls }: Record<string, unknown>): boolean {
  const hasText = typeof content === "string" ? content.trim() !== "" : Array.isArray(content) && content.length > 0;
  return !hasText && !(Array.isArray(calls) && calls.length > 0);
}

function conversationOf(value: unknown, name: string): { prompt: unknown[]; answer: Record<string, unknown> } {
  const messages = listAt(value, [...rowLoc, name]);
  return { prompt: promptOf(messages.slice(0, -1), name), answer: answerOf(messages.slice(-1), name) };
}

function promptOf(value: unknown, name: string): unknown[] {
  const messages = listAt(value, [...rowLoc, name]);
  if (messages.length === 0) throw invalidAt([...rowLoc, name], `${name} has no message before the answer`);
  return messages;
}

/** An answer is a message, or a list of one. */
function answerOf(value: unknown, name: string): Record<string, unknown> {
  const loc = [...rowLoc, name];
  if (value === undefined || value === null) throw invalidAt(loc, `${name} is missing`);
  if (Array.isArray(value) && value.length !== 1)
    throw invalidAt(loc, `${name} must be one message of the assistant, not ${value.length}`);
  const message: unknown = Array.isArray(value) ? value[0] : value;
  if (!isJsonObject(message) || message["role"] !== "assistant")
    throw invalidAt(loc, `${name} must be a message of the assistant`);
  return message;
}
