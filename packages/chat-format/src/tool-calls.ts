import { randomUUID } from "node:crypto";
import { possibleTagStart, splitTrailing } from "./tag-search.js";
import type { ToolCallReader } from "./tool-call-reader.js";
import { toolCallReader } from "./tool-call-reader.js";

const openTag = "<tool_call>";
const closeTag = "</tool_call>";
const spaces = " \n\r\t";

export interface ToolCall {
  id: string;
  name: string;
  /** Text as the model wrote it, meant to be JSON but not validated. */
  arguments: string;
}

/** The first delta of a call has `id` and `name`; `arguments` arrive in pieces. */
interface ToolCallDelta {
  index: number;
  id?: string;
  name?: string;
  arguments: string;
}

interface ToolTextDelta {
  content: string;
  toolCalls: ToolCallDelta[];
}

export interface ToolCallStream {
  push(text: string): ToolTextDelta;
  /** Returns the text that was held back. `push` must not be called afterwards. */
  end(): ToolTextDelta;
}

/**
 * Parses tool calls in the Hermes format, `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. White space next to
 * the tags is removed from the remaining text. A block without a name remains text. The last block may lack its end
 * tag.
 */
export function parseToolCalls(text: string, newId?: () => string): { content: string; toolCalls: ToolCall[] } {
  const stream = toolCallStream(newId);
  const deltas = [stream.push(text), stream.end()];
  const toolCalls: ToolCall[] = [];
  for (const { index, id, name, arguments: piece } of deltas.flatMap((delta) => delta.toolCalls)) {
    const known = toolCalls[index];
    if (known) known.arguments += piece;
    else toolCalls.push({ id: id ?? "", name: name ?? "", arguments: piece });
  }
  return { content: deltas.map((delta) => delta.content).join(""), toolCalls };
}

interface OpenCall {
  reader: ToolCallReader;
  /** The white space before the tag and the text after it, in case the block turns out to be text. */
  before: string;
  text: string;
  index?: number;
  /** Number of characters of the arguments that were already returned. */
  sent: number;
}

/** Streaming form of `parseToolCalls`. Arguments are returned as they arrive, once the name is known. */
export function toolCallStream(newId: () => string = toolCallId): ToolCallStream {
  let held = "";
  let call: OpenCall | undefined;
  let calls = 0;
  /** White space after a call is dropped until another character follows. */
  let afterCall = false;
  let content = "";
  let deltas: ToolCallDelta[] = [];

  return {
    push(text) {
      held += text;
      while (call ? readCall(call) : readContent());
      return flush();
    },
    end() {
      if (call) {
        appendText(call, held);
        closeCall(call, "");
      } else {
        emitContent(held);
      }
      held = "";
      return flush();
    },
  };

  function flush(): ToolTextDelta {
    const delta = { content, toolCalls: deltas };
    content = "";
    deltas = [];
    return delta;
  }

  /** Returns true when a call begins. */
  function readContent(): boolean {
    const at = held.indexOf(openTag);
    if (at >= 0) {
      const [text, before] = splitTrailing(held.slice(0, at), spaces);
      emitContent(text);
      held = held.slice(at + openTag.length);
      call = { reader: toolCallReader(), before, text: "", sent: 0 };
      return true;
    }
    const [sure] = splitTrailing(held.slice(0, held.length - possibleTagStart(held, openTag)), spaces);
    emitContent(sure);
    held = held.slice(sure.length);
    return false;
  }

  /** Returns true when the call is complete. */
  function readCall(open: OpenCall): boolean {
    const at = held.indexOf(closeTag);
    const sure = at >= 0 ? at : held.length - possibleTagStart(held, closeTag);
    appendText(open, held.slice(0, sure));
    held = held.slice(at >= 0 ? at + closeTag.length : sure);
    if (at >= 0) closeCall(open, closeTag);
    return at >= 0;
  }

  function emitContent(text: string): void {
    const rest = afterCall ? text.trimStart() : text;
    if (rest !== "") afterCall = false;
    content += rest;
  }

  function appendText(open: OpenCall, text: string): void {
    open.text += text;
    open.reader.push(text);
    const { name, arguments: given } = open.reader;
    if (name === undefined || given.length === open.sent) return;
    send(open, name, given.slice(open.sent));
    open.sent = given.length;
  }

  function send(open: OpenCall, name: string, piece: string): void {
    if (open.index === undefined) {
      open.index = calls++;
      deltas.push({ index: open.index, id: newId(), name, arguments: piece });
    } else {
      deltas.push({ index: open.index, arguments: piece });
    }
  }

  function closeCall(open: OpenCall, end: string): void {
    call = undefined;
    const { name } = open.reader;
    if (name === undefined) {
      emitContent(open.before + openTag + open.text + end);
      return;
    }
    if (open.index === undefined) send(open, name, "{}");
    afterCall = true;
  }
}

function toolCallId(): string {
  return `chatcmpl-tool-${randomUUID().replaceAll("-", "")}`;
}
