import type { Loc } from "@heddle/errors";
import type { TokenSequence } from "../port.js";
import type { ChatRequest, ChatTemplate } from "@heddle/chat-format";
import { isJsonObject } from "@heddle/exact-json";
import { listAt, invalidAt, objectAt } from "./field-checks.js";
import { trainFlags, withoutFlags } from "./train-flags.js";

export interface SupervisedOptions {
  template: ChatTemplate;
  /** Trained turns: the last message, or every turn of the assistant, each with its end-of-turn token. */
  assistantTurns: "all" | "last";
  /** Longer sequences are flagged. Default: no limit. */
  maxTokens?: number;
  kwargs?: unknown;
}

/**
 * Tokenizes a row `{ messages, tools? }`; the mask selects the tokens of the assistant, but for turns whose flags say that
 * they are not trained (`weight: 0` and others). Rejects with `invalid` and the
 * location for a row without a turn of the assistant, and for a template that changes a turn, or whose text with the
 * last message does not start with the prompt (`last`).
 */
export async function supervisedSequence(
  row: unknown,
  options: SupervisedOptions,
): Promise<TokenSequence & { tooLong: boolean }> {
  const { template, maxTokens = Number.POSITIVE_INFINITY } = options;
  const fields = objectAt(row, ["row"]);
  const { tools } = fields;
  const locs = { messages: ["row", "messages"], tools: ["row", "tools"] };
  const given = listAt(fields["messages"], locs.messages);
  const flags = trainFlags(fields, given, { row: ["row"], messages: locs.messages });
  const messages = given.map(withoutFlags);
  const render = (messages: unknown, more: Partial<ChatRequest> = {}): Promise<string> =>
    template.renderText({ messages, tools, kwargs: options.kwargs, addGenerationPrompt: false, locs, ...more });
  const pieces =
    options.assistantTurns === "last"
      ? await lastTurn(messages, render, { template, loc: locs.messages, flags })
      : await allTurns(messages, render, { template, loc: locs.messages, flags });
  const sequence = await tokenized(pieces, template);
  return { ...sequence, tooLong: sequence.tokens.length > maxTokens };
}

interface Piece {
  text: string;
  trained: boolean;
}

type Render = (messages: unknown[], more?: Partial<ChatRequest>) => Promise<string>;

/** Of each message, whether it says to be trained or not. */
type Flags = readonly (boolean | undefined)[];

async function lastTurn(
  messages: unknown[],
  render: Render,
  { template, loc, flags }: { template: ChatTemplate; loc: Loc; flags: Flags },
): Promise<Piece[]> {
  const lastLoc = [...loc, messages.length - 1];
  if (!isAssistant(messages.at(-1))) throw invalidAt(lastLoc, "the last message is not the assistant's");
  if (messages.length === 1) throw invalidAt(lastLoc, "the last message has no prompt: there is no message before it");
  const prompt = await render(messages.slice(0, -1), { addGenerationPrompt: true });
  const full = await render(messages);
  if (!full.startsWith(prompt)) {
    throw invalidAt(lastLoc, "the chat template renders the text with this message differently from its prompt");
  }
  const { after } = await textAround(messages, messages.length - 1, render, loc);
  const end = after === "" ? await nextTurnsToken(messages, render, template) : "";
  return [
    { text: prompt, trained: false },
    { text: full.slice(prompt.length) + end, trained: flags.at(-1) ?? true },
  ];
}

/**
 * Finds every turn in the rendered text by rendering the conversation again with a marker instead of that turn: the
 * common prefix and suffix of both texts are not part of the turn. The start of an assistant message
 * (`<|im_start|>assistant\n`) is the text that the template adds for a generation prompt; the end of a turn is the text
 * after the marker of the last message, or another control token where earlier turns have one of their own. Where the
 * model ends a turn by the token that begins the next one, that is trained, and added after the last turn.
 */
async function allTurns(
  messages: unknown[],
  render: Render,
  { template, loc, flags }: { template: ChatTemplate; loc: Loc; flags: Flags },
): Promise<Piece[]> {
  const turns = messages.flatMap((message, index) => (isAssistant(message) ? [index] : []));
  const last = turns.at(-1);
  if (last === undefined) throw invalidAt(loc, "there is no message of the assistant");
  const full = await render(messages);
  const asked = await render(messages, { addGenerationPrompt: true });
  const prefix = asked.startsWith(full) ? asked.slice(full.length) : "";
  const ending = (await textAround(messages.slice(0, last + 1), last, render, loc)).after;
  const hasEnding = (await turnEnd(ending, template)) !== "";

  const pieces: Piece[] = [];
  let at = 0;
  for (const index of turns) {
    const { before, after } = await textAround(messages, index, render, loc);
    const shared = commonPrefix(full, before);
    const start = turnStart(full, { prefix, from: at, shared });
    const shareOfEnding = await turnEnd(after.slice(0, commonPrefix(after, ending)), template);
    const closing = shareOfEnding === "" ? await firstToken(after, template, { hasEnding }) : shareOfEnding;
    const end = full.length - after.length + closing.length;
    if (!full.endsWith(after) || start < at || end < start) {
      throw invalidAt([...loc, index], "the chat template does not contain this turn unchanged");
    }
    pieces.push(
      { text: full.slice(at, start), trained: false },
      { text: full.slice(start, end), trained: flags[index] ?? true },
    );
    at = end;
  }
  const rest = full.slice(at);
  if (ending !== "" || rest !== "") return [...pieces, { text: rest, trained: false }];
  const end = await nextTurnsToken(messages, render, template);
  return [...pieces, { text: end, trained: flags[last] ?? true }];
}

/** The control token with which a text begins, if it ends turns: of the model, or, with `hasEnding`, of the template. */
async function firstToken(
  text: string,
  template: ChatTemplate,
  { hasEnding = false }: { hasEnding?: boolean } = {},
): Promise<string> {
  const { tokenizer } = template;
  const [ids = new Int32Array()] = await template.encode([text.slice(0, maxTokenText)], { continued: true });
  const [first] = ids;
  if (first === undefined) return "";
  if (!tokenizer.eosIds.includes(first) && !(hasEnding && tokenizer.specialIds.has(first))) return "";
  const token = Buffer.from(tokenizer.tokenBytes(first)).toString();
  return text.startsWith(token) ? token : "";
}

/** The token that begins the user's next message, if the model ends its turns by it, as GLM does. */
async function nextTurnsToken(messages: unknown[], render: Render, template: ChatTemplate): Promise<string> {
  const answer = messages.findLastIndex(isAssistant);
  const thread = messages.slice(0, answer + 1).with(answer, { role: "assistant", content: marker });
  // A template may refuse a further message: then there is no such token.
  const text = await render([...thread, { role: "user", content: "" }]).catch(() => "");
  const at = text.indexOf(marker);
  return at < 0 ? "" : await firstToken(text.slice(at + marker.length), template);
}

/** Control tokens are shorter. */
const maxTokenText = 200;

const marker = "\u{F0000}heddle:this turn\u{F0001}";

/** Returns the text before and after a turn. */
async function textAround(
  messages: unknown[],
  index: number,
  render: Render,
  loc: Loc,
): Promise<{ before: string; after: string }> {
  const text = await render(messages.with(index, { role: "assistant", content: marker })).catch(
    async (error: unknown) => {
      // Some templates refuse the result of a tool without its call: then the arguments of the call are marked.
      const call = markedCall(messages[index]);
      if (call === undefined) throw error;
      return (await render(messages.with(index, call))).replace(markedArguments, marker);
    },
  );
  const at = text.indexOf(marker);
  if (at < 0 || at !== text.lastIndexOf(marker)) {
    throw invalidAt([...loc, index], "the chat template does not contain this turn unchanged");
  }
  return { before: text.slice(0, at), after: text.slice(at + marker.length) };
}

/** The message with a marker as the arguments of its call; undefined unless it has exactly one. */
function markedCall(message: unknown): unknown {
  const calls = isJsonObject(message) ? message["tool_calls"] : undefined;
  const [call, second] = Array.isArray(calls) ? (calls as unknown[]) : [];
  if (!isJsonObject(message) || !isJsonObject(call) || !isJsonObject(call["function"]) || second !== undefined) {
    return undefined;
  }
  return { ...message, tool_calls: [{ ...call, function: { ...call["function"], arguments: { turn: marker } } }] };
}

const markedArguments = new RegExp(`\\{\\s*"turn":\\s*"${marker}"\\s*\\}`, "u");

/**
 * Returns the position after the prefix. Only think tags, and the recipient and the channel of gpt-oss, which the template
 * may add, can be between it and the marker.
 */
function turnStart(full: string, { prefix, from, shared }: { prefix: string; from: number; shared: number }): number {
  const start = prefix === "" ? -1 : full.lastIndexOf(prefix, shared - prefix.length) + prefix.length;
  const opened =
    start - prefix.length >= from &&
    start <= shared &&
    /^(?:(?: to=[^<]*)?<\|channel\|>[^<]*(?:<\|message\|>)?|\s*(?:<think>\s*)?(?:<\/think>\s*)?)$/.test(
      full.slice(start, shared),
    );
  return opened ? start : shared;
}

/** Returns the text up to the last control token: `<|im_end|>` of `<|im_end|>\n`. */
async function turnEnd(after: string, template: ChatTemplate): Promise<string> {
  const { tokenizer } = template;
  const [ids = new Int32Array()] = await template.encode([after], { continued: true });
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
  return isJsonObject(message) && message["role"] === "assistant";
}

/** Tokenizes each piece separately, because a model continues after the tokens of a prompt. */
async function tokenized(pieces: Piece[], template: ChatTemplate): Promise<TokenSequence> {
  const [first, ...others] = pieces.map(({ text }) => text);
  const parts = [
    ...(first === undefined ? [] : await template.encode([first])),
    ...(await template.encode(others, { continued: true })),
  ];
  const length = parts.reduce((sum, ids) => sum + ids.length, 0);
  const tokens = new Int32Array(length);
  const mask = new Uint8Array(length);
  let at = 0;
  for (const [index, ids] of parts.entries()) {
    tokens.set(ids, at);
    if (pieces[index]?.trained) mask.fill(1, at, at + ids.length);
    at += ids.length;
  }
  // The first token has no preceding token to be predicted from.
  if (length > 0) mask[0] = 0;
  return { tokens, mask };
}
