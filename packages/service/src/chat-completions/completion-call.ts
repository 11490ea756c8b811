import { mainThread } from "@heddle/concurrency";
import { JsonPieces, RawJson, writeJson } from "@heddle/server-stub";
import { newId } from "@heddle/trace-model";
import type { CallPart } from "@heddle/trace-model";
import type { Completion, GenerateResult } from "@heddle/training";
import { completionOf } from "./completion.js";
import type { CompletionRun } from "./completion-run.js";
import { entryLength } from "./token-entries.js";

const completionOpName = "heddle.chat.completions";

/** Where and for whom a completion is recorded. */
export interface CallIdentity {
  id: string;
  project_id: string;
  user_id: string;
  /** Microseconds since 1970. */
  started_at: bigint;
}

export type CompletionOutcome = { result: GenerateResult } | { error: string };

/** Characters of log-probabilities in a recorded call; what would exceed them is left out. */
const mostRecorded = 16e6;
/** Pieces of a text that are made between two turns of other work. */
const piecesAtOnce = 4;

/**
 * The call of a completion. Its inputs are the request with the defaults of its fields. Its output is the response as it
 * would be without a stream, but without log-probabilities of a whole vocabulary; that of a trained model has token ids
 * and log-probabilities, whatever the request says.
 */
export async function completionCall(
  run: CompletionRun,
  identity: CallIdentity,
  outcome: CompletionOutcome,
): Promise<Extract<CallPart, { part: "complete" }>> {
  const { id, project_id, user_id, started_at } = identity;
  const { metadata, store: _, ...inputs } = run.request;
  const { base, trained } = run.model;
  const heddle = {
    base_model: base.name,
    ...(trained && { model_id: trained.model.id, checkpoint_step: trained.checkpoint.step }),
  };
  const details =
    trained === undefined ? run.details : { ...run.details, logprobs: true, tokenIds: true, choicesForTraining: false };
  const endedAt = BigInt(Date.now()) * 1000n;
  const output = "result" in outcome ? completionOf(run, recordedResult(run, outcome.result), details) : undefined;
  // One name for all spellings that requests use.
  const model = trained === undefined ? base.name : `${trained.model.project_id}/${trained.model.name}`;
  const usage = output === undefined ? {} : { [model]: { requests: 1, ...output.usage } };
  return {
    part: "complete",
    start: {
      project_id,
      id,
      trace_id: newId(),
      op_name: completionOpName,
      started_at,
      wb_user_id: user_id,
      attributes: JSON.stringify({ ...metadata, heddle }),
      inputs: JSON.stringify(inputs),
    },
    end: {
      project_id,
      id,
      ended_at: endedAt,
      started_at,
      ...(output && { output: await textOf(output) }),
      summary: JSON.stringify({ usage }),
      ...("error" in outcome && { exception: outcome.error }),
    },
  };
}

/** The result without lists of a whole vocabulary, and without lists that are too long together. */
function recordedResult(run: CompletionRun, { promptLogprobs, ...result }: GenerateResult): GenerateResult {
  const { topLogprobs = 0, promptLogprobs: perPosition = 0 } = run.plan.generate;
  const perEntry = entryLength(run.tokenizer);
  const tokens = result.completions.reduce((sum, each) => sum + each.tokens.length, 0);
  let length = tokens * perEntry;
  const fits = (count: number, entries: number): boolean => {
    const more = count < 0 ? Infinity : entries * count * perEntry;
    if (length + more > mostRecorded) return false;
    length += more;
    return true;
  };
  const isListed = fits(topLogprobs, tokens);
  const isPromptListed =
    promptLogprobs !== undefined && fits(perPosition < 0 ? -1 : 1 + perPosition, promptLogprobs.length);
  return {
    ...result,
    completions: isListed ? result.completions : result.completions.map(withoutAlternatives),
    ...(isPromptListed && { promptLogprobs }),
  };
}

function withoutAlternatives({ tokens, ...completion }: Completion): Completion {
  return { ...completion, tokens: tokens.map(({ token, logprob }) => ({ token, logprob, alternatives: [] })) };
}

/** The JSON text of a completion, made in slices between other work. */
async function textOf(output: ReturnType<typeof completionOf>): Promise<string> {
  const texts = new Map<unknown, RawJson>();
  for (const value of [output.prompt_logprobs, ...output.choices.map(({ logprobs }) => logprobs?.content)]) {
    if (!(value instanceof JsonPieces)) continue;
    let text = "";
    let pieces = 0;
    for (const piece of value.pieces()) {
      text += piece;
      if (++pieces % piecesAtOnce === 0) await mainThread.giveWay();
    }
    texts.set(value, new RawJson(text));
  }
  const textOrValue = (value: unknown): unknown => texts.get(value) ?? value;
  return writeJson({
    ...output,
    prompt_logprobs: textOrValue(output.prompt_logprobs),
    choices: output.choices.map(({ logprobs, ...choice }) => ({
      ...choice,
      logprobs: logprobs && { ...logprobs, content: textOrValue(logprobs.content) },
    })),
  });
}
