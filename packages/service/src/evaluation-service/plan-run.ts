import { HeddleError, mapErrors } from "@heddle/errors";
import { arrayItems, memberOf, stringMember, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { parseRef, projectIdOf } from "@heddle/trace-model";
import type { StoredObject, TraceStore } from "@heddle/trace-store";
import type { Computing } from "../computing/computing.js";
import type { Config } from "../config/config.js";
import type { LlmModel } from "../runnable-objects/llm-model.js";
import { loadModel } from "../runnable-objects/load-model.js";
import { referencedObject, versionRef } from "../objects/referenced-object.js";
import { isRanking, loadCallScorer, loadScorer } from "../runnable-objects/load-scorer.js";
import type { Ranking, Scorer } from "../scorers/scorer.js";
import type { RunServices } from "./run-services.js";

/** A stored object that the service runs, with the ref of its version. */
export interface Runnable {
  ref: string;
  /** Object id. */
  object_id: string;
}

interface RunnableModel extends Runnable {
  model: LlmModel;
}

export interface RunnableScorer extends Runnable {
  scorer: Scorer;
}

export interface RunnableRanking extends Runnable {
  scorer: Ranking;
}

/** Everything that a run needs, checked. */
export interface RunPlan {
  evaluation_ref: string;
  /** Name of the run, if the evaluation gives one. */
  display_name: string | undefined;
  dataset_ref: string;
  /** Digest of the table with the rows. */
  table_digest: string;
  rows: number;
  /** How often each row is predicted. */
  trials: number;
  model: RunnableModel;
  scorers: readonly RunnableScorer[];
}

const maxTrials = 1000;
const maxScorers = 100;

/**
 * Loads what a run needs. Throws `invalid` or `not_found`, with the member of `refs` as loc, for what does not exist, is of
 * another project, or cannot be run by the service.
 */
export async function planRun(
  services: RunServices,
  projectId: string,
  refs: { evaluation_ref: string; model_ref: string },
  computing?: Computing,
): Promise<RunPlan> {
  const { evaluation, ...rows } = await located(["evaluation_ref"], () =>
    readEvaluation(services, projectId, refs.evaluation_ref),
  );
  const scorers = await located(["evaluation_ref"], () =>
    loadScorers(services, projectId, scorerRefsOf(evaluation.val), computing),
  );
  await located(["evaluation_ref"], async () => {
    const { rows: count, trials } = rows;
    checkPredictions(services.config, count * trials, `${count} rows × ${trials} trials`);
  });
  const model = await located(["model_ref"], () => runnableModel(services, projectId, refs.model_ref, computing));
  return {
    ...rows,
    evaluation_ref: versionRef(evaluation),
    display_name: textOf(evaluation.val, "evaluation_name"),
    model,
    scorers,
  };
}

/** Throws `too_large` for more predictions, or calls, than one run or request may make or have scored. */
export function checkPredictions(
  { evaluationMaxPredictions: most }: Pick<Config, "evaluationMaxPredictions">,
  count: number,
  reason?: string,
): void {
  if (count <= most) return;
  const found = reason === undefined ? `more than ${most}` : `${count} (${reason})`;
  const message = `${found} predictions are to be made or scored; at most ${most} may be (HEDDLE_EVALUATION_MAX_PREDICTIONS)`;
  throw new HeddleError("too_large", message);
}

/** The evaluation with the rows that it is about. */
export async function readEvaluation({ store }: { store: TraceStore }, projectId: string, ref: string) {
  const evaluation = await referencedObject({ store }, projectId, ref);
  const { val } = evaluation;
  if (evaluation.leaf_object_class !== "Evaluation" && textOf(val, "_class_name") !== "Evaluation") {
    throw new HeddleError("invalid", `${evaluation.object_id} is not an Evaluation object`);
  }
  const preprocess = memberOf(val, "preprocess_model_input");
  if (preprocess !== undefined && preprocess.trim() !== "null") {
    const message = "the evaluation has a preprocess_model_input, whose code only an SDK can run";
    throw new HeddleError("invalid", message);
  }
  const datasetRef = textOf(val, "dataset");
  if (datasetRef === undefined) throw new HeddleError("invalid", "the evaluation has no dataset that is a ref");
  const dataset = await referencedObject({ store }, projectId, datasetRef);
  const rows = parseRef(textOf(dataset.val, "rows") ?? "");
  if (rows?.kind !== "table" || projectIdOf(rows) !== projectId) {
    throw new HeddleError("invalid", `the dataset ${dataset.object_id} has no table of this project as its rows`);
  }
  const [table] = await store.tables.stats({ project_id: projectId, digests: [rows.digest] });
  if (table === undefined)
    throw new HeddleError("not_found", `the table of the dataset ${dataset.object_id} is missing`);
  return {
    evaluation,
    dataset_ref: versionRef(dataset),
    table_digest: rows.digest,
    rows: table.count,
    trials: trialsOf(val),
  };
}

/** Loads scorers, equal refs once. Throws `invalid` for two with one name, because scores are kept by name. */
export async function loadScorers(
  services: RunServices,
  projectId: string,
  refs: readonly string[],
  computing?: Computing,
): Promise<RunnableScorer[]> {
  return await loadEach(services, projectId, refs, async (version) => await loadScorer(services, version, computing));
}

/** Loads what is applied to calls. Throws as `loadScorers` does. */
export async function loadCallScorers(
  services: RunServices,
  projectId: string,
  refs: readonly string[],
  computing?: Computing,
): Promise<{ scorers: RunnableScorer[]; rankings: RunnableRanking[] }> {
  const load = async (version: StoredObject) => await loadCallScorer(services, version, computing);
  const all = await loadEach(services, projectId, refs, load);
  const scorers: RunnableScorer[] = [];
  const rankings: RunnableRanking[] = [];
  for (const { scorer, ...runnable } of all) {
    if (isRanking(scorer)) rankings.push({ ...runnable, scorer });
    else scorers.push({ ...runnable, scorer });
  }
  return { scorers, rankings };
}

async function loadEach<Loaded extends { name: string }>(
  services: RunServices,
  projectId: string,
  refs: readonly string[],
  load: (version: StoredObject) => Promise<Loaded>,
): Promise<(Runnable & { scorer: Loaded })[]> {
  const scorers: (Runnable & { scorer: Loaded })[] = [];
  const different = new Set(refs);
  if (different.size > maxScorers) throw new HeddleError("invalid", `there are more than ${maxScorers} scorers`);
  for (const ref of different) {
    const version = await referencedObject(services, projectId, ref);
    const scorer = await load(version);
    if (scorers.some((other) => other.scorer.name === scorer.name)) {
      throw new HeddleError("invalid", `two scorers have the name ${scorer.name}`);
    }
    scorers.push({ ref: versionRef(version), object_id: version.object_id, scorer });
  }
  return scorers;
}

async function runnableModel(
  services: RunServices,
  projectId: string,
  ref: string,
  computing: Computing | undefined,
): Promise<RunnableModel> {
  const version = await referencedObject(services, projectId, ref);
  return {
    ref: versionRef(version),
    object_id: version.object_id,
    model: await loadModel(services, version, computing),
  };
}

function scorerRefsOf(evaluation: JsonText): string[] {
  return arrayItems(memberOf(evaluation, "scorers") ?? "[]").map((item) => {
    const ref = stringValue(item);
    if (ref === undefined) throw new HeddleError("invalid", "the evaluation has a scorer that is not a ref");
    return ref;
  });
}

function trialsOf(evaluation: JsonText): number {
  const text = memberOf(evaluation, "trials");
  if (text === undefined || text.trim() === "null") return 1;
  const trials = Number(text);
  if (Number.isSafeInteger(trials) && trials >= 1 && trials <= maxTrials) return trials;
  throw new HeddleError("invalid", `the trials of the evaluation must be a whole number from 1 to ${maxTrials}`);
}

/** A member that is a text and not empty. */
function textOf(object: JsonText, name: string): string | undefined {
  return stringMember(object, name) || undefined;
}

/** Gives errors without a loc this one. */
export async function located<T>(loc: readonly string[], work: () => Promise<T>): Promise<T> {
  return await mapErrors((error) => ((error.loc ?? []).length > 0 ? error : error.with({ loc })), work);
}
