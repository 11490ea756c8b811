import { HeddleError, mapErrors, withLoc } from "@heddle/errors";
import { trainedTokens } from "../objective/trained-tokens.js";
import type { TokenSequence } from "../port.js";
import { supervisedSequence } from "../trajectories/supervised.js";
import { openBaseModel } from "./base-model.js";
import { runGradientSteps } from "./gradient-loop.js";
import type { TrainingJob, TrainingJobResult } from "./training-job.js";
import { yieldToEventLoop } from "./training-job.js";
import { sftConfig } from "./sft-config.js";
import { supervisedPlan } from "./supervised-plan.js";

export interface SftJob extends TrainingJob {
  /** Rows in file order, as returned by `readTrainingRows`; `line` counts from 1. */
  rows: { line: number; row: unknown }[];
  /** Submitted `config`. Absent or null: all defaults. */
  config?: unknown;
}

/**
 * Trains weights on example conversations and writes a checkpoint. All rows are validated before the first event. Rows
 * longer than the model can be trained on are dropped and counted.
 *
 * @throws HeddleError `invalid` with the location of an invalid setting or row, and the line of the row in the message.
 */
export async function runSftJob(job: SftJob): Promise<TrainingJobResult> {
  const settings = sftConfig(job.config, job.rows.length);
  const { info, training, maxSequenceTokens, template } = await openBaseModel(job);
  const options = { template, assistantTurns: settings.assistantTurns, maxTokens: maxSequenceTokens };
  const rows: (TokenSequence | undefined)[] = [];
  for (const [index, { line, row }] of job.rows.entries()) {
    await yieldToEventLoop(job.signal);
    const { tooLong, tokens, mask } = await atLine(line, () =>
      withLoc(["rows", index], () => supervisedSequence(row, options)),
    );
    rows.push(tooLong ? undefined : { tokens, mask });
  }
  const plan = supervisedPlan({ ...job, settings, vocabularySize: info.vocabularySize, rows });
  Object.assign(plan.started, untrainedRows(job.rows, rows, maxSequenceTokens));
  if (settings.unknownSettings.length > 0) plan.started["unknown_settings"] = settings.unknownSettings;
  if (!training.gradientClipping) plan.started["ignored_settings"] = ["max_gradient_norm"];
  return runGradientSteps(job, plan);
}

/** Lines that an event names; further ones are counted. */
const namedLines = 20;

/**
 * What the first event says of rows that are not trained. Throws `invalid` when none is: the job would change nothing.
 */
function untrainedRows(
  given: SftJob["rows"],
  rows: readonly (TokenSequence | undefined)[],
  maxTokens: number,
): Record<string, number | string | string[]> {
  const linesOf = (is: (row: TokenSequence | undefined) => boolean) =>
    given.filter((_, index) => is(rows[index])).map(({ line }) => line);
  const long = linesOf((row) => row === undefined);
  const untrained = linesOf((row) => row !== undefined && trainedTokens(row) === 0);
  if (long.length + untrained.length === 0) return {};
  const named = (lines: number[]) =>
    lines.slice(0, namedLines).join(", ") + (lines.length > namedLines ? " and others" : "");
  const warning = [
    ...(long.length > 0 ? [`${long.length} rows have more than ${maxTokens} tokens (lines ${named(long)})`] : []),
    ...(untrained.length > 0 ? [`${untrained.length} rows have no trained token (lines ${named(untrained)})`] : []),
  ].join("; ");
  if (long.length + untrained.length === given.length) {
    throw new HeddleError("invalid", `Nothing can be trained: ${warning}.`, { loc: ["rows"] });
  }
  return { num_untrained_trajectories: untrained.length, warning: `Not trained: ${warning}.` };
}

/** Adds the line of a row to the message of an error. */
function atLine<T>(line: number, read: () => Promise<T>): Promise<T> {
  return mapErrors((error) => error.with({ message: `line ${line}: ${error.message}` }), read);
}
