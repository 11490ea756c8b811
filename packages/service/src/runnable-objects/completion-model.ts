import { HeddleError } from "@heddle/errors";
import { rawJson } from "@heddle/server-stub";
import type { JsonText } from "@heddle/exact-json";
import type { Computing } from "../computing/computing.js";
import type { ChatCompletion, ChatModel, ChatRequest } from "../providers/chat-completions.js";
import type { FilledRequest, JudgeQuestion, RankingQuestion, RequestTemplate } from "../computing/fill-request.js";
import type { LlmModel, Prediction } from "./llm-model.js";
import { isMembers } from "../llm-models/members.js";
import { jsonIn } from "../llm-models/variables.js";

const maxExcerpt = 200;

/** A model object with the chat model that it names. */
export class CompletionModel implements LlmModel {
  readonly name: string;
  readonly #modelId: string;
  readonly #template: RequestTemplate;
  readonly #chat: ChatModel;
  readonly #computing: Computing;

  constructor(
    { name, modelId, ...template }: RequestTemplate & { name: string; modelId: string },
    chat: ChatModel,
    computing: Computing,
  ) {
    this.name = name;
    this.#modelId = modelId;
    this.#template = template;
    this.#chat = chat;
    this.#computing = computing;
  }

  async predict(row: JsonText, signal: AbortSignal): Promise<Prediction> {
    const request = await this.#computing.run("fillModelRequest", { ...this.#template, row }, { signal });
    return this.#send(request, signal);
  }

  /** Asks the model to judge. Throws as `predict` does. */
  async judge(question: JudgeQuestion, signal: AbortSignal): Promise<Prediction> {
    const request = await this.#computing.run("fillJudgeRequest", { ...this.#template, ...question }, { signal });
    return this.#send(request, signal);
  }

  /** Asks the model to rank a group. Throws as `predict` does. */
  async rank(question: RankingQuestion, signal: AbortSignal): Promise<Prediction> {
    const request = await this.#computing.run("fillRankingRequest", { ...this.#template, ...question }, { signal });
    return this.#send(request, signal);
  }

  async #send({ members, expectsJson }: FilledRequest, signal: AbortSignal): Promise<Prediction> {
    const request = Object.fromEntries(Object.entries(members).map(([key, text]) => [key, rawJson(text)]));
    const began = performance.now();
    const completion = await this.#chat.complete(request as ChatRequest, signal);
    const latency = (performance.now() - began) / 1000;
    const { usage } = completion;
    return {
      output: outputOf(completion, expectsJson),
      ...(usage !== undefined && { usage }),
      model: this.#modelId,
      latency,
    };
  }
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
