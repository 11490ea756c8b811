import { HeddleError } from "@heddle/errors";
import type { Loc } from "@heddle/errors";
import { currentScope } from "../limits/request-scope.js";
import type { CompletionRun } from "./completion-run.js";
import { entryLength } from "./token-entries.js";

/** Bytes of a token in memory, with its text and its log-probability. */
const tokenBytes = 100;
/** Bytes of an alternative in memory: in a list of some, and in one of the whole vocabulary. */
const listedBytes = 64;
const columnBytes = 16;
/** UTF-16 units of an id in a response. */
const idLength = 7;
/** Tokens that are expected of a completion whose request says no number. */
const expectedTokens = 4096;

/** Returns the alternatives per token that a request asks for. */
export function alternativesOf({ model, plan }: Pick<CompletionRun, "model" | "plan">): number {
  const { topLogprobs = 0 } = plan.generate;
  return topLogprobs < 0 ? model.base.vocabularySize : topLogprobs;
}

/**
 * Reserves the memory that the service needs for a completion, before it is generated: of a stream what may wait for its
 * client, otherwise also the length of the response. Throws `too_large` for what can never be had, and `rate_limited` or
 * `busy` when so much does not become free. `limitBytes` is what the requests of a key may hold.
 */
export async function reserveCompletion(run: CompletionRun, limitBytes: number): Promise<void> {
  const scope = currentScope();
  if (scope === undefined) return;
  const { request, plan, model, tokenizer } = run;
  const { n, maxTokens, prompt, topLogprobs = 0, promptLogprobs } = plan.generate;
  const expected = Math.min(maxTokens, expectedTokens);
  const isBounded = topLogprobs < 0 || (request.max_completion_tokens ?? request.max_tokens) !== undefined;
  const listed = n * (isBounded ? maxTokens : expected) * alternativesOf(run);
  if (request.stream) {
    const bytes = listed * (topLogprobs < 0 ? columnBytes : listedBytes);
    if (bytes > limitBytes) throw tooLarge(bytes, limitBytes, ["top_logprobs"]);
    await scope.hold(n * expected * tokenBytes + bytes);
    return;
  }
  await scope.hold(n * expected * tokenBytes);
  const perPosition =
    promptLogprobs === undefined ? 0 : 1 + (promptLogprobs < 0 ? model.base.vocabularySize : promptLogprobs);
  const length = entryLength(tokenizer);
  if (run.details.choicesForTraining) await scope.holdForResponse(n * prompt.length * idLength, ["n"]);
  if (listed > 0) await scope.holdForResponse(listed * length, ["top_logprobs"]);
  if (perPosition > 0) await scope.holdForResponse(prompt.length * perPosition * length, ["prompt_logprobs"]);
}

function tooLarge(bytes: number, limitBytes: number, loc: Loc): HeddleError {
  const message = `the stream may hold ${bytes} bytes of log-probabilities, more than the ${limitBytes} that the requests of a key may hold (half of HEDDLE_WORKING_MEMORY); ask for fewer tokens, choices or alternatives`;
  return new HeddleError("too_large", message, { loc });
}
