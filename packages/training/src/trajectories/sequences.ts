import { HeddleError } from "@heddle/errors";
import type { ChatTemplate } from "@heddle/chat-format";
import type { History, Trajectory } from "./groups.js";
import { templateSequence } from "./template-sequence.js";
import type { SequenceBuilder, TrainingSequence } from "./training-sequence.js";
import { sequenceBuilder } from "./training-sequence.js";
import type { Reason, Turn } from "./turns.js";
import { readTurns } from "./turns.js";

export interface SequenceOptions {
  template: ChatTemplate;
  /** Rows of the model's output. Default: number of tokens of the tokenizer. */
  vocabularySize?: number;
  /** Longer sequences are flagged. Default: no limit. */
  maxTokens?: number;
  /** Train assistant turns without log-probabilities as well. */
  allowTrainingWithoutLogprobs?: boolean;
  /** Variables for the chat template. */
  kwargs?: unknown;
  /** Advantages of the elements of each history, in addition to that of the trajectory. */
  turnAdvantages?: readonly (readonly number[])[];
  withoutTruncated?: boolean | undefined;
  oldestStep?: number | undefined;
}

/**
 * Returns the trained turns of a trajectory as token sequences, each turn once. If every trained turn of a history has
 * the recorded token ids of its prompt, those are used, and turns whose prompt extends the previous sequence share one
 * sequence. Otherwise the chat template is rendered. `reasons` lists what cannot be trained, with locations. Rejects
 * with `invalid` and the location for wrong token ids, numbers of log-probabilities and messages.
 */
export async function trajectorySequences(
  { histories, initialPolicyVersion }: Pick<Trajectory, "histories" | "initialPolicyVersion">,
  options: SequenceOptions,
): Promise<{ sequences: TrainingSequence[]; reasons: Reason[] }> {
  const { template, vocabularySize = 0, maxTokens = Number.POSITIVE_INFINITY, withoutTruncated, oldestStep } = options;
  const known = { tokenizer: template.tokenizer, vocabularySize };
  const reasons: Reason[] = [];
  const builders: SequenceBuilder[] = [];
  let current: SequenceBuilder | undefined;
  for (const [index, history] of histories.entries()) {
    const read = await readTurns({ ...history, advantages: options.turnAdvantages?.[index] }, known, {
      withoutLogprobs: options.allowTrainingWithoutLogprobs ?? false,
      template,
      withoutTruncated,
      oldestStep,
      defaultStep: initialPolicyVersion,
    });
    reasons.push(...read.reasons);
    if (read.turns.length === 0) continue;
    const trained = read.turns.flatMap(({ loc, trained }) => (trained ? [{ loc, ...trained }] : []));
    if (trained.every(({ promptIds }) => promptIds)) {
      for (const { loc, promptIds = new Int32Array(), ...turn } of trained) {
        if (!current?.isPrefixOf(promptIds)) {
          current = sequenceBuilder(loc);
          builders.push(current);
        }
        current.context(promptIds.subarray(current.length));
        current.trained(turn);
      }
    } else {
      const rendered = await renderSequence(read.turns, history, options);
      if ("code" in rendered) reasons.push(rendered);
      else builders.push(rendered);
    }
  }
  const sequences = builders.map((sequence) => sequence.build(maxTokens));
  for (const { tooLong, tokens, loc } of sequences) {
    const message = `${tokens.length} tokens; at most ${maxTokens} can be trained`;
    if (tooLong) reasons.push({ code: "too_long", loc, message });
  }
  return { sequences: sequences.filter(({ mask }) => mask.includes(1)), reasons };
}

async function renderSequence(
  turns: Turn[],
  { loc, tools }: History,
  { template, kwargs }: SequenceOptions,
): Promise<SequenceBuilder | Reason> {
  try {
    return await templateSequence(turns, { template, tools, kwargs, loc });
  } catch (error) {
    // A failure of the engine, or a lack of capacity, is not a property of the trajectory.
    if (!(error instanceof HeddleError) || !["invalid", "unsupported", "too_large"].includes(error.code)) throw error;
    return { code: "template", loc: error.loc ?? loc, message: error.message };
  }
}
