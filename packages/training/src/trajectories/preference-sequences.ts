import type { HeddleError } from "@heddle/errors";
import { mapErrors } from "@heddle/errors";
import type { ChatTemplate } from "@heddle/chat-format";
import { trainedTokens } from "../objective/trained-tokens.js";
import type { TokenSequence } from "../port.js";
import { invalidAt } from "./field-checks.js";
import { isEmptyAnswer, preferencePair, ratedAnswer } from "./preference-rows.js";
import { supervisedSequence } from "./supervised.js";

/** What a row trains; the mask of each sequence selects an answer, which ends it. */
export type PreferenceRow =
  | { chosen: TokenSequence; rejected: TokenSequence }
  | { answer: TokenSequence; desirable: boolean };

/** Why a row is not trained. */
export type LeftOut = "too_long" | "equal_answers" | "empty_answer";

export interface TokenizedPreference {
  /** What it trains, or why it trains nothing. */
  row: PreferenceRow | LeftOut;
  /** Of each sequence, of a pair that of the better answer first. */
  sizes: { tokens: number; trainedTokens: number }[];
}

export interface PreferenceOptions {
  template: ChatTemplate;
  /** Rows with longer sequences are left out. */
  maxTokens: number;
}

/** Tokenizes a row with two answers. Rejects with `invalid` and the location of what is wrong. */
export async function pairSequences(row: unknown, options: PreferenceOptions): Promise<TokenizedPreference> {
  const { prompt, tools, ...answers } = preferencePair(row);
  const chosen = await answerSequence({ prompt, tools, answer: answers.chosen, name: "chosen" }, options);
  const rejected = await answerSequence({ prompt, tools, answer: answers.rejected, name: "rejected" }, options);
  const leftOut: LeftOut | false =
    (isEmptyAnswer(answers.chosen) && "empty_answer") ||
    (sameTokens(chosen, rejected) && "equal_answers") ||
    ((chosen.tooLong || rejected.tooLong) && "too_long");
  return tokenized(leftOut || { chosen: masked(chosen), rejected: masked(rejected) }, [chosen, rejected]);
}

/** Tokenizes a row with a rated answer. Rejects with `invalid` and the location of what is wrong. */
export async function ratingSequence(row: unknown, options: PreferenceOptions): Promise<TokenizedPreference> {
  const { prompt, tools, completion, desirable } = ratedAnswer(row);
  const answer = await answerSequence({ prompt, tools, answer: completion, name: "completion" }, options);
  const leftOut: LeftOut | false =
    (desirable && isEmptyAnswer(completion) && "empty_answer") || (answer.tooLong && "too_long");
  return tokenized(leftOut || { answer: masked(answer), desirable }, [answer]);
}

type Sequence = TokenSequence & { tooLong: boolean };

function tokenized(row: PreferenceRow | LeftOut, sequences: Sequence[]): TokenizedPreference {
  const isTrained = typeof row !== "string";
  const sizes = sequences.map((sequence) => ({
    tokens: sequence.tokens.length,
    trainedTokens: isTrained ? trainedTokens(sequence) : 0,
  }));
  return { row, sizes };
}

function masked({ tokens, mask }: Sequence): TokenSequence {
  return { tokens, mask };
}

async function answerSequence(
  { prompt, tools, answer, name }: { prompt: unknown[]; tools: unknown; answer: object; name: string },
  { template, maxTokens }: PreferenceOptions,
): Promise<Sequence> {
  // The flags of other formats say what supervised training takes; here the whole answer counts.
  const messages = [...prompt, { ...answer, weight: 1 }];
  const options = { template, maxTokens, assistantTurns: "last" } as const;
  const sequence = await mapErrors(
    (error) => inRow(error, prompt.length, name),
    () => supervisedSequence({ messages, tools }, options),
  );
  if (trainedTokens(sequence) === 0) throw invalidAt(["row", name], "the chat template renders nothing of the answer");
  return sequence;
}

/** Names the field of the row, whose prompt and answer were read as one conversation. */
function inRow(error: HeddleError, prompt: number, name: string): HeddleError {
  const [row, field, index, ...rest] = error.loc ?? [];
  if (row !== "row" || field !== "messages") return error;
  if (typeof index !== "number") return error.with({ loc: ["row", name] });
  return error.with({ loc: index < prompt ? ["row", "prompt", index, ...rest] : ["row", name, ...rest] });
}

function sameTokens({ tokens }: TokenSequence, other: TokenSequence): boolean {
  return tokens.length === other.tokens.length && tokens.every((token, t) => token === other.tokens[t]);
}
