import { reasoningStream, toolCallStream } from "@heddle/chat-format";
import type { ReasoningTags, ToolCallFormat } from "@heddle/chat-format";

/** What a piece of sampled text adds to a message. */
export interface MessageDelta {
  content: string;
  reasoning: string;
  toolCalls: ToolCallPart[];
}

/** The first part of a call has its id and name. */
export interface ToolCallPart {
  index: number;
  id?: string;
  name?: string;
  arguments: string;
}

export interface MessageOptions {
  /** The prompt ends inside of a block of reasoning. */
  opensReasoning: boolean;
  /** Default `<think>`. */
  reasoningTags?: ReasoningTags;
  /** How calls of tools are read. Without it they remain text. */
  toolCalls?: { format: ToolCallFormat; tools: unknown };
  /** Only the first call is kept. */
  oneToolCall: boolean;
}

/** Reads a message from its text, whole or in pieces, with the same result. */
export class MessageParser {
  readonly #reasoning;
  readonly #tools;
  readonly #mostCalls: number;

  constructor({ opensReasoning, reasoningTags, toolCalls, oneToolCall }: MessageOptions) {
    this.#reasoning = reasoningStream({ open: opensReasoning, tags: reasoningTags });
    this.#tools = toolCalls && toolCallStream(toolCalls);
    this.#mostCalls = oneToolCall ? 1 : Infinity;
  }

  push(text: string): MessageDelta {
    const { reasoning, content } = this.#reasoning.push(text);
    return { reasoning, ...this.#calls(this.#tools?.push(content), content) };
  }

  /** What was held back. */
  end(): MessageDelta {
    const { reasoning, content } = this.#reasoning.end();
    const parts = [this.#tools?.push(content), this.#tools?.end()].map((part) => this.#calls(part, ""));
    return {
      reasoning,
      content: this.#tools === undefined ? content : parts.map((part) => part.content).join(""),
      toolCalls: parts.flatMap((part) => part.toolCalls),
    };
  }

  #calls(
    read: { content: string; toolCalls: ToolCallPart[] } | undefined,
    content: string,
  ): Omit<MessageDelta, "reasoning"> {
    if (read === undefined) return { content, toolCalls: [] };
    return { content: read.content, toolCalls: read.toolCalls.filter(({ index }) => index < this.#mostCalls) };
  }
}

export interface ParsedMessage {
  content: string;
  reasoning: string;
  toolCalls: { id: string; name: string; arguments: string }[];
}

export function parseMessage(text: string, options: MessageOptions): ParsedMessage {
  const parser = new MessageParser(options);
  const deltas = [parser.push(text), parser.end()];
  const toolCalls: ParsedMessage["toolCalls"] = [];
  for (const part of deltas.flatMap((delta) => delta.toolCalls)) {
    const begun = toolCalls[part.index];
    if (begun === undefined)
      toolCalls[part.index] = { id: part.id ?? "", name: part.name ?? "", arguments: part.arguments };
    else begun.arguments += part.arguments;
  }
  return {
    content: deltas.map(({ content }) => content).join(""),
    reasoning: deltas.map(({ reasoning }) => reasoning).join(""),
    toolCalls,
  };
}
