import type { Random } from "./random.js";

interface ToolCall {
  type: "function";
  function: { name: string; arguments: Record<string, unknown> };
}

export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  tool_calls?: ToolCall[];
}

export interface Tool {
  type: "function";
  function: { name: string; description: string; parameters: Record<string, unknown> };
}

/** A conversation whose last message is the answer to learn. */
export interface Conversation {
  messages: Message[];
  tools?: Tool[];
  /** Identifies the example within its task, and decides whether it is held out. */
  key: string;
}

/** Text that is not part of a conversation. */
export interface Passage {
  text: string;
  key: string;
}

export type Example = Conversation | Passage;

/** `index` counts the examples of the task, for values that alternate instead of being random. */
export type Generator = (random: Random, index: number) => Example;

export function isPassage(example: Example): example is Passage {
  return "text" in example;
}

export function ask(question: string, answer: string, key = question): Conversation {
  return {
    messages: [
      { role: "user", content: question },
      { role: "assistant", content: answer },
    ],
    key,
  };
}

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
