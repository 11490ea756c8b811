import { randomUUID } from "node:crypto";
import { toolParameters } from "./argument-text.js";
import { formats } from "./block-formats.js";
import { BlockStream } from "./block-stream.js";
import { messageStream } from "./message-stream.js";
import { SentCalls } from "./sent-calls.js";
import type { ToolCall, ToolCallFormat, ToolCallStream } from "./tool-call.js";

export interface ToolCallOptions {
  /** Default `hermes`: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. */
  format?: ToolCallFormat;
  /** The submitted tools. Their schemas decide the types of arguments in formats that write them without quotes. */
  tools?: unknown;
  newId?: () => string;
}

/**
 * Parses the tool calls in a text. White space next to a call is removed from the remaining text. A block that is not a call
 * remains text. The last block may lack its end tag.
 */
export function parseToolCalls(text: string, options?: ToolCallOptions): { content: string; toolCalls: ToolCall[] } {
  const stream = toolCallStream(options);
  const deltas = [stream.push(text), stream.end()];
  const toolCalls: ToolCall[] = [];
  for (const { index, id, name, arguments: piece } of deltas.flatMap((delta) => delta.toolCalls)) {
    const known = toolCalls[index];
    if (known) known.arguments += piece;
    else toolCalls.push({ id: id ?? "", name: name ?? "", arguments: piece });
  }
  return { content: deltas.map((delta) => delta.content).join(""), toolCalls };
}

/**
 * Streaming form of `parseToolCalls`. The arguments of Hermes calls are returned as they arrive, once the name is known;
 * calls of other formats when they are complete.
 */
export function toolCallStream({ format = "hermes", tools, newId = toolCallId }: ToolCallOptions = {}): ToolCallStream {
  const known = formats[format];
  const sent = new SentCalls(newId);
  return "open" in known
    ? new BlockStream(known, toolParameters(tools), sent)
    : messageStream(known, toolParameters(tools), sent);
}

function toolCallId(): string {
  return `chatcmpl-tool-${randomUUID().replaceAll("-", "")}`;
}
