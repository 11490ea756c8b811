export interface ToolCall {
  id: string;
  name: string;
  /** Text as the model wrote it, meant to be a JSON object but not validated. `{}` if it wrote none. */
  arguments: string;
}

/** A call in the text of a model. */
export interface WrittenCall {
  name: string;
  /** JSON text. */
  arguments: string;
}

/** The first delta of a call has `id` and `name`; `arguments` may arrive in pieces. */
export interface ToolCallDelta {
  index: number;
  id?: string;
  name?: string;
  arguments: string;
}

export interface ToolTextDelta {
  content: string;
  toolCalls: ToolCallDelta[];
}

export interface ToolCallStream {
  push(text: string): ToolTextDelta;
  /** Returns the text that was held back. `push` must not be called afterwards. */
  end(): ToolTextDelta;
}

/** How the models of a family write calls. */
export type ToolCallFormat =
  | "hermes"
  | "function-tags"
  | "argument-tags"
  | "deepseek"
  | "mistral"
  | "llama-json"
  | "pythonic"
  | "tagged-pythonic"
  | "tagged-list"
  | "functools"
  | "harmony";
