import type { Loc } from "@heddle/errors";
import type { TokenSequence } from "../port.js";
import type { ChatRequest, ChatTemplate } from "../text/template.js";
import { isObject } from "../text/model-file.js";
import type { Tokenizer } from "../text/tokenizer.js";
import { listAt, invalidAt, objectAt } from "./field-checks.js";

export interface SupervisedOptions {
  template: ChatTemplate;
  /** `last`: what the last message adds to its prompt. `all`: every turn of the assistant, its end-of-turn token included. */
  assistantTurns: "all" | "last";
  /** Longer sequences are flagged. Default: no limit. */
  contextLength?: number;
  kwargs?: unknown;
}

/**
 * A row `{ messages, tools? }` as tokens, the assistant's masked as trained.
 * Rejects with `invalid` and the place: no turn of the assistant, a template that does not show a turn as it is, or whose
 * text with the answer does not go on where the prompt ended (`last`).
 */
export async function supervisedSequence(
  row: unknown,
  options: SupervisedOptions,
): Promise<TokenSequence & { exceedsContext: boolean }> {
  const { template, contextLength = Number.POSITIVE_INFINITY } = options;
  const { messages: given, tools } = objectAt(row, ["row"]);
  const locs = { messages: ["row", "messages"], tools: ["row", "tools"] };
  const messages = listAt(given, locs.messages);
  const render = (messages: unknown, more: Partial<ChatRequest> = {}): Promise<string> =>
    template.renderText({ messages, tools, kwargs: options.kwargs, addGenerationPrompt: false, locs, ...more });
  const pieces =
    options.assistantTurns === "last"
      ? await lastTurn(messages, render, locs.messages)
      : await allTurns(messages, render, { tokenizer: template.tokenizer, loc: locs.messages });
  const sequence = tokenized(pieces, template.tokenizer);
  return { ...sequence, exceedsContext: sequence.tokens.length > contextLength };
}

interface Piece {
  text: string;
  trained: boolean;
}

type Render = (messages: unknown[], more?: Partial<ChatRequest>) => Promise<string>;

async function lastTurn(messages: unknown[], render: Render, loc: Loc): Promise<Piece[]> {
  const answer = [...loc, messages.length - 1];
  if (!isAssistant(messages.at(-1))) throw invalidAt(answer, "the last message is not the assistant's");
  if (messages.length === 1) throw invalidAt(answer, "there is nothing before the answer");
  const prompt = await render(messages.slice(0, -1), { addGenerationPrompt: true });
  const full = await render(messages);
  if (!full.startsWith(prompt)) {
    throw invalidAt(answer, "with the chat template, the text with this answer does not go on where the prompt ended");
  }
  return [
    { text: prompt, trained: false },
    { text: full.slice(prompt.length), trained: true },
  ];
}

/**
 * Finds every turn in the whole text by rendering the conversation once more with a mark in place of that turn: what both
 * texts have in common before and behind it is not the turn. The beginning of an answer (`<|im_start|>assistant\n`) is what
 * the template adds for a prompt, the end of a turn what stands behind the mark when it is the last message.
 */
async function allTurns(
  messages: unknown[],
  render: Render,
  { tokenizer, loc }: { tokenizer: Tokenizer; loc: Loc },
): Promise<Piece[]> {
  const turns = messages.flatMap((message, index) => (isAssistant(message) ? [index] : []));
  const last = turns.at(-1);
  if (last === undefined) throw invalidAt(loc, "no message of the assistant");
  const full = await render(messages);
  const asked = await render(messages, { addGenerationPrompt: true });
  const opening = asked.startsWith(full) ? asked.slice(full.length) : "";
  const ending = (await textAround(messages.slice(0, last + 1), last, render, loc)).after;

  const pieces: Piece[] = [];
  let at = 0;
  for (const index of turns) {
    const { before, after } = await textAround(messages, index, render, loc);
    const shared = commonPrefix(full, before);
    const start = turnStart(full, { opening, from: at, shared });
    const closing = turnEnd(after.slice(0, commonPrefix(after, ending)), tokenizer);
    const end = full.length - after.length + closing.length;
    if (!full.endsWith(after) || start < at || end < start) {
      throw invalidAt([...loc, index], "the chat template does not show this turn as it is");
    }
    pieces.push({ text: full.slice(at, start), trained: false }, { text: full.slice(start, end), trained: true });
    at = end;
  }
  return [...pieces, { text: full.slice(at), trained: false }];
}

const marker = "\u{F0000}heddle:this turn\u{F0001}";

/** The text before and behind a turn. */
async function textAround(
  messages: unknown[],
  index: number,
  render: Render,
  loc: Loc,
): Promise<{ before: string; after: string }> {
  const text = await render(messages.with(index, { role: "assistant", content: marker }));
  const at = text.indexOf(marker);
  if (at < 0 || at !== text.lastIndexOf(marker)) {
    throw invalidAt([...loc, index], "the chat template does not show this turn as it is");
  }
  return { before: text.slice(0, at), after: text.slice(at + marker.length) };
}

/** Behind the opening; only the tags of thoughts, which the turn has in common with any other, may lie between it and the mark. */
function turnStart(full: string, { opening, from, shared }: { opening: string; from: number; shared: number }): number {
  const start = opening === "" ? -1 : full.lastIndexOf(opening, shared - opening.length) + opening.length;
  const opened =
    start - opening.length >= from &&
    start <= shared &&
    /^\s*(<think>)?\s*(<\/think>)?\s*$/.test(full.slice(start, shared));
  return opened ? start : shared;
}

/** Up to the last control token: `<|im_end|>` of `<|im_end|>\n`. */
function turnEnd(after: string, tokenizer: Tokenizer): string {
  const ids = tokenizer.encode(after, { continued: true });
  const last = ids.findLastIndex((id) => tokenizer.specialIds.has(id) || tokenizer.eosIds.includes(id));
  const end = Buffer.concat([...ids.subarray(0, last + 1)].map((id) => tokenizer.tokenBytes(id))).toString();
  return after.startsWith(end) ? end : "";
}

function commonPrefix(left: string, right: string): number {
  let length = 0;
  while (length < left.length && left.charCodeAt(length) === right.charCodeAt(length)) length++;
  return length;
}

function isAssistant(message: unknown): boolean {
  return isObject(message) && message["role"] === "assistant";
}

/** Pieces are tokenized on their own: the model, too, goes on behind the tokens of a prompt. */
function tokenized(pieces: Piece[], tokenizer: Tokenizer): TokenSequence {
  const parts = pieces.map(({ text }, index) => tokenizer.encode(text, { continued: index > 0 }));
  const length = parts.reduce((sum, ids) => sum + ids.length, 0);
  const tokens = new Int32Array(length);
  const mask = new Uint8Array(length);
  let at = 0;
  for (const [index, ids] of parts.entries()) {
    tokens.set(ids, at);
    if (pieces[index]?.trained) mask.fill(1, at, at + ids.length);
    at += ids.length;
  }
  // There is nothing before the first token to predict it from.
  if (length > 0) mask[0] = 0;
  return { tokens, mask };
}
