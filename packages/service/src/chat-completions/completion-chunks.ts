import type { ResponseSchemas } from "@heddle/server-stub/training";
import type { Completion, CompletionChunk, GenerateResult, SampledToken } from "@heddle/training";
import { alternativesOf } from "./completion-memory.js";
import type { CompletionRun } from "./completion-run.js";
import { finishReasonOf, usageOf } from "./completion.js";
import { MessageParser } from "./message-parser.js";
import type { MessageDelta } from "./message-parser.js";
import { logprobsOf } from "./token-entries.js";

type Chunk = ResponseSchemas["ChatCompletionChunk"];
type ChunkChoice = ResponseSchemas["ChatCompletionChunkChoice"];
type Delta = ResponseSchemas["ChatCompletionDelta"];

interface OpenChoice {
  parser: MessageParser;
  callsTools: boolean;
  /** What was sent of the completion. */
  textLength: number;
  tokens: number;
}

/** Makes the chunks of a streamed completion from what the engine generates. */
export class CompletionChunks {
  readonly #run: CompletionRun;
  readonly #choices = new Map<number, OpenChoice>();
  readonly #usage: boolean;
  readonly #continuousUsage: boolean;
  #isFirst = true;
  #tokens = 0;

  constructor(run: CompletionRun) {
    this.#run = run;
    const options = run.request.stream_options;
    this.#usage = options?.include_usage === true;
    this.#continuousUsage = this.#usage && options?.continuous_usage_stats === true;
  }

  *push({ index, text, tokens }: CompletionChunk): Generator<Chunk> {
    yield* this.#begin(index);
    yield* this.#advance(index, text, tokens);
  }

  /** What is missing of every choice, its end, and the usage. */
  *end({ completions, cachedTokens }: GenerateResult): Generator<Chunk> {
    for (const completion of completions) {
      yield* this.#begin(completion.index);
      yield* this.#finish(completion);
    }
    if (this.#usage) {
      const { length } = this.#run.plan.prompt.ids;
      yield { ...this.#chunk([]), usage: usageOf(length, this.#tokens, cachedTokens) };
    }
  }

  *#begin(index: number): Generator<Chunk> {
    if (this.#choices.has(index)) return;
    const { details, message, model, plan, callId = null } = this.#run;
    this.#choices.set(index, { parser: new MessageParser(message), callsTools: false, textLength: 0, tokens: 0 });
    const part = this.#part(index, { role: "assistant", content: "" }, []);
    const sampled = details.choicesForTraining && {
      prompt_token_ids: [...plan.prompt.ids],
      checkpoint_step: model.trained?.checkpoint.step ?? null,
      call_id: callId,
    };
    yield this.#chunk([{ ...part, ...sampled }]);
    if (plan.prompt.echo !== "") yield this.#chunk([this.#part(index, { content: plan.prompt.echo }, [])]);
  }

  *#advance(index: number, text: string, tokens: readonly SampledToken[]): Generator<Chunk> {
    const choice = this.#choices.get(index);
    if (choice === undefined) return;
    choice.textLength += text.length;
    choice.tokens += tokens.length;
    this.#tokens += tokens.length;
    const delta = this.#delta(choice, choice.parser.push(text));
    const { logprobs, tokenIds } = this.#run.details;
    const hasTokens = tokens.length > 0 && (logprobs || tokenIds);
    if (hasTokens || Object.keys(delta).length > 0) yield this.#chunk([this.#part(index, delta, tokens)]);
  }

  *#finish(completion: Completion): Generator<Chunk> {
    const { index, text, tokens, stopReason } = completion;
    const choice = this.#choices.get(index);
    if (choice === undefined) return;
    // Beams, for example, are not known before the end.
    const [missingText, missingTokens] = [text.slice(choice.textLength), tokens.slice(choice.tokens)];
    yield* this.#advance(index, missingText, missingTokens);
    const rest = this.#delta(choice, choice.parser.end());
    if (Object.keys(rest).length > 0) yield this.#chunk([this.#part(index, rest, [])]);
    const finishReason = finishReasonOf(this.#run, completion, choice.callsTools);
    yield this.#chunk([{ ...this.#part(index, {}, []), finish_reason: finishReason, stop_reason: stopReason }]);
  }

  #delta(choice: OpenChoice, { content, reasoning, toolCalls }: MessageDelta): Delta {
    choice.callsTools ||= toolCalls.length > 0;
    const visibleReasoning = this.#run.details.reasoning ? reasoning : "";
    return {
      ...(visibleReasoning !== "" && { reasoning: visibleReasoning, reasoning_content: visibleReasoning }),
      ...(content !== "" && { content }),
      ...(toolCalls.length > 0 && {
        tool_calls: toolCalls.map(({ index, id, name, arguments: given }) => ({
          index,
          ...(id !== undefined && { id, type: "function" as const }),
          function: { ...(name !== undefined && { name }), arguments: given },
        })),
      }),
    };
  }

  #part(index: number, delta: Delta, tokens: readonly SampledToken[]): ChunkChoice {
    const { details, tokenizer } = this.#run;
    const shows = details.logprobs && tokens.length > 0;
    const naming = { tokenizer, byId: details.tokensById };
    return {
      index,
      delta,
      logprobs: shows ? logprobsOf(tokens, naming, alternativesOf(this.#run)) : null,
      finish_reason: null,
      ...(details.tokenIds && tokens.length > 0 && { token_ids: tokens.map(({ token }) => token) }),
    };
  }

  #chunk(choices: ChunkChoice[]): Chunk {
    const { id, created, request, model, plan, details } = this.#run;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    return {
      id,
      object: "chat.completion.chunk",
      created,
      model: request.model ?? "",
      checkpoint_step: model.trained?.checkpoint.step ?? null,
      choices,
      ...(this.#continuousUsage && { usage: usageOf(plan.prompt.ids.length, this.#tokens) }),
      ...(isFirst && details.tokenIds && { prompt_token_ids: [...plan.prompt.ids] }),
    };
  }
}
