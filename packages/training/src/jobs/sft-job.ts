import { HeddleError, withLoc } from "@heddle/errors";
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
  if (settings.unknownSettings.length > 0) plan.started["unknown_settings"] = settings.unknownSettings;
  if (!training.gradientClipping) plan.started["ignored_settings"] = ["max_gradient_norm"];
  return runGradientSteps(job, plan);
}

/** Adds the line of a row to the message of an error. */
async function atLine<T>(line: number, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    const { code, message, loc, details } = error;
    throw new HeddleError(code, `line ${line}: ${message}`, { loc, details, cause: error });
  }
}
