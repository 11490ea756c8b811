import { HeddleError } from "@heddle/errors";
import type { JsonText } from "@heddle/trace-model";
import type { ChatCompletion, ChatModel } from "../providers/chat-completions.js";
import { withinTime } from "../time-limit.js";
import type { LlmModel, Prediction } from "./llm-model.js";
import { isMembers } from "./members.js";
import type { Members } from "./members.js";
import { TemplateFiller } from "./template.js";
import { columnsOf, jsonIn, Variables } from "./variables.js";

/** What a model object says, checked. */
export interface ModelSettings {
  name: string;
  /** `<provider>/<model>`. */
  modelId: string;
  /** Messages with variables; only `content` is filled. */
  template: readonly Members[];
  /** Further members of each request, by the names of the OpenAI API. */
  parameters: Members;
}

/** The column that holds messages of the user, which follow those of the template. */
const userInput = "user_input";
const maxExcerpt = 200;
/** Many paths into large values take long. */
const fillMs = 500;

/** A model object with the chat model that it names. */
export class CompletionModel implements LlmModel {
  readonly name: string;
  readonly #settings: ModelSettings;
  readonly #chat: ChatModel;

  constructor(settings: ModelSettings, chat: ChatModel) {
    this.name = settings.name;
    this.#settings = settings;
    this.#chat = chat;
  }

  async predict(row: JsonText, signal: AbortSignal): Promise<Prediction> {
    const variables = new Variables(columnsOf(row));
    const { messages, used } = filledMessages(this.#settings.template, variables);
    const usesInput = [...used].some((path) => path.split(".")[0] === userInput);
    const input = usesInput ? undefined : variables.find(userInput);
    if (input !== undefined) messages.push(...messagesOf(input));
    if (messages.length === 0) {
      throw new HeddleError("invalid", `the model has no messages_template, and the row no column "${userInput}"`);
    }
    return this.#request(messages, this.#settings.parameters, signal);
  }

  /**
   * Completes messages that follow the template, in which nothing is filled. `parameters` replace those of the model
   * object.
   */
  async complete(messages: readonly Members[], signal: AbortSignal, parameters: Members = {}): Promise<Prediction> {
    const all = [...this.#settings.template, ...messages];
    return this.#request(all, { ...this.#settings.parameters, ...parameters }, signal);
  }

  async #request(messages: readonly Members[], parameters: Members, signal: AbortSignal): Promise<Prediction> {
    const began = performance.now();
    const completion = await this.#chat.complete({ ...parameters, messages }, signal);
    const latency = (performance.now() - began) / 1000;
    const { usage } = completion;
    return {
      output: outputOf(completion, expectsJson(parameters)),
      ...(usage !== undefined && { usage }),
      model: this.#settings.modelId,
      latency,
    };
  }
}

/**
 * Fills the content of messages. Throws as `TemplateFiller` does. `used` has the names and paths that were filled in.
 */
export function filledMessages(
  template: readonly Members[],
  variables: Variables,
): { messages: Members[]; used: ReadonlySet<string> } {
  const filler = new TemplateFiller(variables);
  const messages = withinTime(fillMs, () =>
    template.map((message) => {
      return "content" in message ? { ...message, content: filler.fill(message["content"]) } : message;
    }),
  );
  return { messages, used: filler.used };
}

function messagesOf(input: JsonText): Members[] {
  const value: unknown = JSON.parse(input);
  if (value === null) return [];
  if (typeof value === "string") return [{ role: "user", content: value }];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.map((message) => {
    if (isMembers(message) && typeof message["role"] === "string") return message;
    throw new HeddleError("invalid", `the column "${userInput}" must be a text, a message or a list of messages`);
  });
}

function expectsJson({ response_format }: Members): boolean {
  return isMembers(response_format) && response_format["type"] !== "text";
}

/** The text of the message; with calls of tools, the whole message. */
function outputOf({ message, finishReason }: ChatCompletion, asJson: boolean): JsonText {
  const { content, tool_calls, function_call } = message;
  if ((Array.isArray(tool_calls) && tool_calls.length > 0) || isMembers(function_call)) return JSON.stringify(message);
  if (typeof content !== "string") throw new HeddleError("failed", "the model returned a message without a text");
  if (!asJson) return JSON.stringify(content);
  const parsed = jsonIn(content);
  if (parsed !== undefined) return parsed.text;
  const excerpt = JSON.stringify(content.slice(0, maxExcerpt));
  const reason = finishReason === "length" ? ", and was cut at max_tokens" : "";
  throw new HeddleError("failed", `the model was asked for JSON and returned a text that is none${reason}: ${excerpt}`);
}
