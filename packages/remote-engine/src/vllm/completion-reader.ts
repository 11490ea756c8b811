import { isJsonObject } from "@heddle/exact-json";
import { HeddleError } from "@heddle/errors";
import type {
  Completion,
  CompletionChunk,
  GenerateRequest,
  GenerateResult,
  SampledToken,
  TokenLogprob,
} from "@heddle/training";

/** Builds the completions of one request from the chunks of a stream, or from one response, which has the same fields. */
export interface CompletionReader {
  /** Reads one chunk. Returns what it adds to each completion, for streaming. */
  add(chunk: unknown): CompletionChunk[];
  /** Whether every completion has a finish reason. */
  readonly isComplete: boolean;
  /** Returns the result; throws `failed` if it is not complete. */
  result(weightsId: string): GenerateResult;
}

const finishReasons = new Set<unknown>(["stop", "length", "repetition", "abort"]);

/**
 * @param model name that was requested; a response of another model is rejected.
 * @param eosIds tokens whose stop has no `stopReason` unless the request names them.
 */
export function completionReader(request: GenerateRequest, model: string, eosIds: readonly number[]): CompletionReader {
  const { n, topLogprobs = 0, stopTokenIds = [] } = request;
  const drafts = Array.from({ length: n }, (_, index) => ({
    index,
    text: [] as string[],
    tokens: [] as SampledToken[],
    finish: undefined as Pick<Completion, "finishReason" | "stopReason"> | undefined,
  }));
  let promptLogprobs: GenerateResult["promptLogprobs"];
  let cachedTokens = 0;

  function readChoice(choice: unknown): CompletionChunk {
    const {
      index,
      text,
      token_ids: ids,
      logprobs,
      finish_reason: reason,
      stop_reason: stop,
      // The name of SGLang.
      matched_stop: matched,
    } = object(choice, "choice");
    const draft = typeof index === "number" ? drafts[index] : undefined;
    if (!draft || typeof text !== "string") throw unreadable("a choice without index and text");
    const tokens = sampledTokens(ids, logprobs, topLogprobs);
    draft.text.push(text);
    draft.tokens.push(...tokens);
    if (reason !== null && reason !== undefined)
      draft.finish = { finishReason: finishOf(reason), stopReason: stopOf(stop ?? matched) };
    return { index: draft.index, text, tokens };
  }

  /** The end-of-text tokens are sent as stop tokens, and for callers they are the end of the text. */
  function stopOf(stop: unknown): string | number | null {
    if (typeof stop === "string") return stop;
    if (typeof stop !== "number") return null;
    return eosIds.includes(stop) && !stopTokenIds.includes(stop) ? null : stop;
  }

  return {
    add(chunk) {
      const { choices, model: served, usage, error } = object(chunk, "response");
      if (error !== undefined && error !== null) throw streamError(error);
      if (served !== model) throw unreadable(`the model ${JSON.stringify(served)} instead of ${JSON.stringify(model)}`);
      if (!Array.isArray(choices)) throw unreadable("a response without choices");
      if (isJsonObject(usage) && isJsonObject(usage["prompt_tokens_details"])) {
        const cached = usage["prompt_tokens_details"]["cached_tokens"];
        if (typeof cached === "number") cachedTokens = cached;
      }
      const [first] = choices as unknown[];
      const prompt = isJsonObject(first) ? first["prompt_logprobs"] : undefined;
      if (Array.isArray(prompt)) promptLogprobs = prompt.map((entry, at) => promptEntry(entry, request.prompt[at], at));
      return choices.map(readChoice);
    },
    get isComplete() {
      return drafts.every(({ finish }) => finish !== undefined);
    },
    result(weightsId) {
      const completions = drafts.map(({ index, text, tokens, finish }): Completion => {
        if (!finish) throw unreadable(`no end of completion ${index}`);
        return { index, text: text.join(""), tokens, ...finish };
      });
      if (request.promptLogprobs !== undefined && promptLogprobs?.length !== request.prompt.length) {
        throw unreadable("no log-probability for each prompt token");
      }
      return { completions, weightsId, cachedTokens, ...(promptLogprobs && { promptLogprobs }) };
    },
  };
}

function finishOf(reason: unknown): Completion["finishReason"] {
  if (!finishReasons.has(reason)) throw unreadable(`the finish reason ${JSON.stringify(reason)}`);
  return reason as Completion["finishReason"];
}

function sampledTokens(ids: unknown, logprobs: unknown, count: number): SampledToken[] {
  if (ids === null || ids === undefined) return [];
  const { token_logprobs: values = [], top_logprobs: top = [] } = isJsonObject(logprobs) ? logprobs : {};
  if (!Array.isArray(ids) || !Array.isArray(values) || !Array.isArray(top) || values.length !== ids.length) {
    throw unreadable("no log-probability for each token");
  }
  return ids.map((token: unknown, at): SampledToken => {
    const logprob: unknown = values[at];
    if (typeof token !== "number" || typeof logprob !== "number") throw unreadable("a token without log-probability");
    return { token, logprob, alternatives: count === 0 ? [] : alternatives(top[at], count) };
  });
}

/** The server adds the sampled token to the alternatives, which are keyed `token_id:<id>`. */
function alternatives(entry: unknown, count: number): TokenLogprob[] {
  const found = Object.entries(isJsonObject(entry) ? entry : {}).map(([key, logprob]) => {
    const token = /^token_id:(\d+)$/u.exec(key)?.[1];
    if (token === undefined || typeof logprob !== "number") throw unreadable("an alternative without token id");
    return { token: Number(token), logprob };
  });
  const sorted = found.toSorted((a, b) => b.logprob - a.logprob).map((each, at) => ({ ...each, rank: at + 1 }));
  return count < 0 ? sorted : sorted.slice(0, count);
}

/** Reads the log-probabilities at one prompt token, keyed by id: the token itself first, then the alternatives. */
function promptEntry(
  entry: unknown,
  token: number | undefined,
  at: number,
): (TokenLogprob[] & { 0: TokenLogprob }) | null {
  if (at === 0 && entry === null) return null;
  const all = Object.entries(object(entry, "prompt log-probability")).map(([id, value]): TokenLogprob => {
    const { logprob, rank } = object(value, "prompt log-probability");
    if (typeof logprob !== "number" || typeof rank !== "number")
      throw unreadable("a prompt token without logprob and rank");
    return { token: Number(id), logprob, rank };
  });
  const own = all.find((each) => each.token === token);
  if (!own) throw unreadable("other prompt tokens than were sent");
  return [own, ...all.filter((each) => each !== own).toSorted((a, b) => a.rank - b.rank)];
}

function object(value: unknown, what: string): Record<string, unknown> {
  if (!isJsonObject(value)) throw unreadable(`a ${what} that is not an object`);
  return value;
}

function unreadable(what: string): HeddleError {
  return new HeddleError("failed", `the inference server returned ${what}`);
}

function streamError(error: unknown): HeddleError {
  const { message, code } = isJsonObject(error) ? error : {};
  const reason = typeof message === "string" ? message.slice(0, 300) : "no reason";
  return new HeddleError(code === 400 ? "invalid" : "failed", `the inference server: ${reason}`);
}
