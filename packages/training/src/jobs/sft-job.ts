import { HeddleError, mapErrors, withLoc } from "@heddle/errors";
import { trainedTokens } from "../objective/trained-tokens.js";
import type { TokenSequence } from "../port.js";
import { supervisedSequence } from "../trajectories/supervised.js";
import { openBaseModel } from "./base-model.js";
import type { BaseModelOf } from "./base-model.js";
import { runGradientSteps } from "./gradient-loop.js";
import type { TrainingJob, TrainingJobResult } from "./training-job.js";
import { yieldToEventLoop } from "./training-job.js";
import { heldOutIndexes, holdOut } from "./held-out-rows.js";
import { heldOutCount, sftConfig } from "./sft-config.js";
import type { SftConfig } from "./sft-config.js";
import { supervisedPlan } from "./supervised-plan.js";
import { atLine, untrainedRows } from "./untrained-rows.js";

export interface SftJob extends TrainingJob {
  /** Rows in file order, as returned by `readTrainingRows`; `line` counts from 1. */
  rows: { line: number; row: unknown }[];
  /** Rows of another file, for `validation_data_url` of the settings. */
  validationRows?: { line: number; row: unknown }[];
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
  const base = await openBaseModel(job);
  const { info, training, maxSequenceTokens } = base;
  const { kept, heldOut } = holdOut(job.rows, heldOutCount(job.rows.length, settings.validation));
  if (heldOut.length > 0 && kept.length === 0)
    throw new HeddleError("invalid", "validation_fraction leaves no row to be trained.", { loc: validationLoc });
  const rows: (TokenSequence | undefined)[] = [];
  for await (const { tooLong, tokens, mask } of sequencesOf(kept, settings, base, job.signal))
    rows.push(tooLong ? undefined : { tokens, mask });
  const evaluation = await evaluatedRows(job, heldOut, settings, base);
  const plan = supervisedPlan({
    ...job,
    settings,
    vocabularySize: info.vocabularySize,
    rows,
    validationRows: evaluation.rows,
  });
  const linesOf = (is: (row: TokenSequence | undefined) => boolean) =>
    kept.filter((_, index) => is(rows[index])).map(({ line }) => line);
  const untrained = linesOf((row) => row !== undefined && trainedTokens(row) === 0);
  const warning = untrainedRows(kept.length, [
    { lines: linesOf((row) => row === undefined), reason: `rows have more than ${maxSequenceTokens} tokens` },
    { lines: untrained, reason: "rows have no trained token" },
  ]);
  if (warning !== undefined) Object.assign(plan.started, { num_untrained_trajectories: untrained.length, warning });
  Object.assign(plan.started, evaluation.counts);
  if (settings.unknownSettings.length > 0) plan.started["unknown_settings"] = settings.unknownSettings;
  if (!training.gradientClipping) plan.started["ignored_settings"] = ["max_gradient_norm"];
  return runGradientSteps(job, plan);
}

const validationLoc = ["config", "validation_fraction"];

/** The rows that the settings have evaluated. Throws `invalid` when none of them can be. */
async function evaluatedRows(
  job: SftJob,
  heldOut: SftJob["rows"],
  settings: SftConfig,
  base: Awaited<ReturnType<typeof openBaseModel>>,
): Promise<{ rows: TokenSequence[]; counts: Record<string, number> }> {
  if (settings.validation === undefined) return { rows: [], counts: {} };
  const isOther = settings.validation.fraction === undefined;
  const given = isOther ? (job.validationRows ?? []) : heldOut;
  const rows: TokenSequence[] = [];
  const reading = async () => {
    for await (const { tooLong, tokens, mask } of sequencesOf(given, settings, base, job.signal))
      if (!tooLong && mask.includes(1)) rows.push({ tokens, mask });
  };
  await mapErrors((error) => (isOther ? error.with({ message: `validation data, ${error.message}` }) : error), reading);
  if (rows.length === 0) {
    const loc = isOther ? ["config", "validation_data_url"] : validationLoc;
    throw new HeddleError("invalid", "Nothing can be evaluated: all rows are too long or have no trained token.", {
      loc,
    });
  }
  const counts = {
    num_validation_trajectories: given.length,
    num_dropped_validation_trajectories: given.length - rows.length,
    num_validation_tokens: rows.reduce((sum, row) => sum + trainedTokens(row), 0),
  };
  return { rows, counts };
}

/** What a row contributes to the training. */
interface RowSummary {
  tokens: number;
  /** 0 for a row that is longer than the model can be trained on, or held out. */
  trainedTokens: number;
  tooLong: boolean;
  /** Whether it is evaluated and not trained. */
  isHeldOut: boolean;
}

/** How many of the rows a job with these settings evaluates and does not train. Throws as `runSftJob` for the settings. */
export function heldOutRows(config: unknown, rows: number): number {
  return heldOutCount(rows, sftConfig(config, rows).validation);
}

/**
 * What each of the first rows of a job with these settings would contribute, of `totalRows` rows, up to the first that cannot be used, and why the job would
 * fail.
 */
export async function previewRows({
  rows,
  totalRows,
  config,
  ...from
}: Pick<SftJob, "rows" | "config"> & { totalRows: number } & BaseModelOf): Promise<{
  rows: RowSummary[];
  /** Of all rows. */
  heldOut: number;
  error?: HeddleError;
}> {
  const found: RowSummary[] = [];
  let heldOut = 0;
  try {
    const settings = sftConfig(config, totalRows);
    heldOut = heldOutCount(totalRows, settings.validation);
    const evaluated = heldOutIndexes(totalRows, heldOut);
    for await (const sequence of sequencesOf(rows, settings, await openBaseModel(from), from.signal)) {
      const { tokens, tooLong } = sequence;
      const isHeldOut = evaluated.has(found.length);
      const trained = tooLong || isHeldOut ? 0 : trainedTokens(sequence);
      found.push({ tokens: tokens.length, trainedTokens: trained, tooLong, isHeldOut });
    }
    return { rows: found, heldOut };
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "invalid") throw error;
    return { rows: found, heldOut, error };
  }
}

async function* sequencesOf(
  rows: SftJob["rows"],
  { assistantTurns }: SftConfig,
  { template, maxSequenceTokens }: Awaited<ReturnType<typeof openBaseModel>>,
  signal: AbortSignal | undefined,
): AsyncGenerator<TokenSequence & { tooLong: boolean }> {
  const options = { template, assistantTurns, maxTokens: maxSequenceTokens };
  for (const [index, { line, row }] of rows.entries()) {
    await yieldToEventLoop(signal);
    yield await atLine(line, () => withLoc(["rows", index], () => supervisedSequence(row, options)));
  }
}
