import { HeddleError, withLoc } from "@heddle/errors";
import type { LeftOut, PreferenceRow, TokenizedPreference } from "../trajectories/preference-sequences.js";
import { pairSequences, ratingSequence } from "../trajectories/preference-sequences.js";
import type { BaseModelOf } from "./base-model.js";
import { openBaseModel } from "./base-model.js";
import { runGradientSteps } from "./gradient-loop.js";
import type { PreferenceConfig } from "./preference-config.js";
import { preferenceConfig } from "./preference-config.js";
import { preferencePlan } from "./preference-plan.js";
import type { TrainingJob, TrainingJobResult } from "./training-job.js";
import { yieldToEventLoop } from "./training-job.js";
import { atLine, untrainedRows } from "./untrained-rows.js";

export interface PreferenceJob extends TrainingJob {
  /** Rows in file order, as returned by `readTrainingRows`; `line` counts from 1. */
  rows: { line: number; row: unknown }[];
  /** Submitted `config`. Absent or null: all defaults. */
  config?: unknown;
  /** Step of the weights that the job starts from, for a learning rate that is scheduled over steps of the model. */
  fromStep?: number;
}

/**
 * Trains weights on pairs of a better and a worse answer, or on rated answers, and writes a checkpoint. All rows are
 * validated before the first event. Rows that teach nothing or are too long are left out, counted and named.
 *
 * @throws HeddleError `invalid` with the location of an invalid setting or row, and the line of the row in the message.
 */
export async function runPreferenceJob(job: PreferenceJob): Promise<TrainingJobResult> {
  const settings = preferenceConfig(job.config);
  const base = await openBaseModel(job);
  const { info, training, maxSequenceTokens } = base;
  const rows: PreferenceRow[] = [];
  const left = new Map<LeftOut, number[]>();
  for await (const { line, row } of tokenizedRows(job.rows, settings, base, job.signal)) {
    if (typeof row === "string") left.set(row, [...(left.get(row) ?? []), line]);
    else rows.push(row);
  }
  const reasons = [...left].map(([reason, lines]) => ({ lines, reason: reasonOf(reason, maxSequenceTokens) }));
  const warning = untrainedRows(job.rows.length, reasons);
  requireBothKinds(rows);
  const plan = preferencePlan({ ...job, settings, vocabularySize: info.vocabularySize, maxSequenceTokens, rows });
  const counts = Object.fromEntries([...left].map(([reason, lines]) => [`num_dropped_${reason}`, lines.length]));
  Object.assign(plan.started, counts, warning !== undefined && { warning });
  Object.assign(plan.ended, counts);
  if (settings.unknownSettings.length > 0) plan.started["unknown_settings"] = settings.unknownSettings;
  if (!training.gradientClipping) plan.started["ignored_settings"] = ["max_gradient_norm"];
  return runGradientSteps(job, plan);
}

/** What a row contributes to the training. */
interface PreferenceSummary {
  /** Tokens of its sequences, of a pair those of the better answer first. */
  sizes: TokenizedPreference["sizes"];
  leftOut: LeftOut | undefined;
}

/**
 * What each row of a job with these settings would contribute, up to the first that cannot be used, and why the job would
 * fail.
 */
export async function previewPreferences({
  rows,
  config,
  ...from
}: Pick<PreferenceJob, "rows" | "config"> & BaseModelOf): Promise<{ rows: PreferenceSummary[]; error?: HeddleError }> {
  const found: PreferenceSummary[] = [];
  try {
    const kept: PreferenceRow[] = [];
    for await (const { row, sizes } of tokenizedRows(
      rows,
      preferenceConfig(config),
      await openBaseModel(from),
      from.signal,
    )) {
      found.push({ sizes, leftOut: typeof row === "string" ? row : undefined });
      if (typeof row !== "string") kept.push(row);
    }
    requireBothKinds(kept);
    return { rows: found };
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "invalid") throw error;
    return { rows: found, error };
  }
}

async function* tokenizedRows(
  rows: PreferenceJob["rows"],
  { objective }: PreferenceConfig,
  { template, maxSequenceTokens }: Awaited<ReturnType<typeof openBaseModel>>,
  signal: AbortSignal | undefined,
): AsyncGenerator<TokenizedPreference & { line: number }> {
  const read = objective.name === "dpo" ? pairSequences : ratingSequence;
  const options = { template, maxTokens: maxSequenceTokens };
  for (const [index, { line, row }] of rows.entries()) {
    await yieldToEventLoop(signal);
    yield { line, ...(await atLine(line, () => withLoc(["rows", index], () => read(row, options)))) };
  }
}

function reasonOf(reason: LeftOut, maxTokens: number): string {
  const texts = {
    too_long: `rows have more than ${maxTokens} tokens`,
    equal_answers: "rows have two equal answers",
    empty_answer: "rows prefer an empty answer",
  };
  return texts[reason];
}

/** Answers of one kind alone say nothing of what to prefer. */
function requireBothKinds(rows: readonly PreferenceRow[]): void {
  const labels = new Set(rows.flatMap((row) => ("answer" in row ? [row.desirable] : [])));
  const [only] = labels;
  if (labels.size !== 1) return;
  const which = only === true ? "desirable (label true)" : "undesirable (label false)";
  const message = `All ${rows.length} ratings that can be trained are ${which}; kto needs some of both kinds.`;
  throw new HeddleError("invalid", message, { loc: ["rows"] });
}
