import { HeddleError } from "@heddle/errors";
import { refSpellings } from "@heddle/trace-model";
import type { ReadOptions } from "../context.js";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import type { InFlight } from "../stored-calls/in-flight.js";
import { checkPage, pageClause } from "../query/page.js";
import type { Page } from "../query/page.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import type { CallScope } from "../visibility/call-scope.js";
import { amongIds, selectPredictions, selectTrialCalls, selectTrials, trialFacts } from "./trial-sql.js";

export type EvaluationRecordKind = "run" | "prediction" | "score";

/** Which records; conditions that are given must all hold. */
export interface EvaluationRecordQuery extends Page {
  project_id: string;
  kind: EvaluationRecordKind;
  ids?: readonly string[];
  /** Of predictions and scores: only those of this run. */
  evaluation_run_id?: string;
  /** Of predictions and scores: only those of this trial. */
  trial_id?: string;
  /** Of runs: refs, one of which the run has. */
  evaluations?: readonly string[];
  models?: readonly string[];
}

/** A call that is a run, a prediction or a score, and where it belongs. */
export interface EvaluationRecord {
  id: string;
  trace_id: string;
  /** The call around a prediction and its scores; null for runs and for what stands alone. */
  trial_id: string | null;
  /** The run of the trial; of a run itself its own id. */
  evaluation_run_id: string | null;
  /** Refs; '' where the calls name none. */
  evaluation: string;
  model: string;
  /** Name of a score; '' for other kinds. */
  scorer: string;
}

export interface EvaluationsContext {
  engine: Engine;
  /** Microseconds since 1970. */
  now: () => bigint;
  inFlight: InFlight;
}

/**
 * Finds runs, predictions and scores, the oldest first, whoever made them. Throws `invalid` for pages and lists that
 * cannot be.
 */
export async function findRecords(
  { engine, now, inFlight }: EvaluationsContext,
  request: EvaluationRecordQuery,
  { signal }: ReadOptions = {},
): Promise<EvaluationRecord[]> {
  checkPage(request);
  for (const name of ["ids", "evaluations", "models"] as const) {
    if ((request[name]?.length ?? 0) > maxEntries) {
      throw new HeddleError("invalid", `${name} has more than ${maxEntries} entries`, { loc: [name] });
    }
  }
  const scopeNow = () => ({ project_id: request.project_id, now: now(), inFlight });
  const { kind, ids, trial_id } = request;
  let trialIds = trial_id === undefined ? undefined : [trial_id];
  if (kind !== "run" && ids !== undefined && trialIds === undefined) {
    const source = { engine, scopeNow, signal };
    const calls = await readLocations(source, ids);
    if (calls.length === 0) return [];
    trialIds = [...new Set(calls.map(({ parent_id }) => parent_id))];
    const isUnpaged = request.limit === undefined && request.offset === undefined;
    const named = kind === "prediction" && isUnpaged ? await namedPredictions(source, calls, trialIds) : undefined;
    if (named !== undefined) {
      const run = request.evaluation_run_id;
      return named.filter(({ evaluation_run_id }) => run === undefined || evaluation_run_id === run);
    }
  }
  const statement = () => {
    const p = new Parameters();
    const scope = scopeNow();
    const found = kind === "run" ? selectRuns(scope, p, request) : selectParts(scope, p, request, trialIds);
    const sql = `SELECT ${recordColumns.join(", ")} FROM (${found}) ORDER BY toInt64(us), id LIMIT 1 BY id`;
    return { sql: sql + pageClause(p, request), params: p };
  };
  const rows = await engine.rows<RecordRow>(statement, { signal });
  return rows.map(({ id, trace, trial, run, evaluation, model, scorer }) => ({
    id,
    evaluation,
    model,
    scorer,
    trace_id: trace,
    trial_id: trial || null,
    evaluation_run_id: run || null,
  }));
}

const maxEntries = 1000;

interface RecordSource {
  engine: Engine;
  scopeNow: () => CallScope;
  signal: AbortSignal | undefined;
}

interface CallLocation {
  id: string;
  parent_id: string;
  trace_id: string;
  us: string;
}

/** Where calls are, each once, the oldest first. */
async function readLocations(
  { engine, scopeNow, signal }: RecordSource,
  ids: readonly string[],
): Promise<CallLocation[]> {
  const statement = () => {
    const p = new Parameters();
    const select = ["id", "parent_id", "trace_id", "toUnixTimestamp64Micro(started_at) AS us"];
    return { sql: visibleCalls(scopeNow(), p, { select, ...amongIds(p, ids) }), params: p };
  };
  const rows = await engine.rows<CallLocation>(statement, { signal });
  const calls = [...new Map(rows.map((row) => [row.id, row])).values()];
  return calls.toSorted((a, b) => Number(BigInt(a.us) - BigInt(b.us)) || (a.id < b.id ? -1 : 1));
}

/**
 * The predictions that these calls are, when the trial of each names it: no other call has to be looked at then. Undefined
 * otherwise.
 */
async function namedPredictions(
  { engine, scopeNow, signal }: RecordSource,
  calls: readonly CallLocation[],
  trialIds: readonly string[],
): Promise<EvaluationRecord[] | undefined> {
  if (calls.some(({ parent_id }) => parent_id === "")) return undefined;
  interface Trial {
    trial_id: string;
    run_id: string;
    model: string;
    predict_call_id: string;
  }
  const statement = () => {
    const p = new Parameters();
    return { sql: selectTrials(scopeNow(), p, { ids: trialIds }, trialFacts), params: p };
  };
  const trials = new Map(
    (await engine.rows<Trial>(statement, { signal })).map((trial) => [trial.trial_id, trial] as const),
  );
  const records = calls.map(({ id, parent_id, trace_id }): EvaluationRecord | undefined => {
    const trial = trials.get(parent_id);
    if (trial?.predict_call_id !== id) return undefined;
    const { trial_id, run_id, model } = trial;
    return { id, trace_id, trial_id, evaluation_run_id: run_id || null, evaluation: "", model, scorer: "" };
  });
  return records.every((record) => record !== undefined) ? records : undefined;
}

interface RecordRow extends Pick<EvaluationRecord, "id" | "evaluation" | "model" | "scorer"> {
  us: string;
  trace: string;
  trial: string;
  run: string;
}

const recordColumns = ["id", "us", "trace", "trial", "run", "evaluation", "model", "scorer"] as const;

const noTrial = ["trial", "run", "evaluation", "model", "scorer"].map((name) => `'' AS ${name}`);

/** The first of these that is not an empty text. */
const firstOf = (...texts: string[]) => `arrayFirst(text -> text != '', [${texts.join(", ")}])`;

function selectRuns(scope: CallScope, p: Parameters, { ids, evaluations, models }: EvaluationRecordQuery): string {
  const evaluation = firstOf(
    "JSONExtractString(attributes, 'weave', 'evaluation')",
    "JSONExtractString(inputs, 'self')",
    "JSONExtractString(inputs, 'this')",
  );
  const model = firstOf("JSONExtractString(attributes, 'weave', 'model')", "JSONExtractString(inputs, 'model')");
  return visibleCalls(scope, p, {
    select: [
      "id",
      "toUnixTimestamp64Micro(started_at) AS us",
      "trace_id AS trace",
      "'' AS trial",
      "id AS run",
      `${evaluation} AS evaluation`,
      `${model} AS model`,
      "'' AS scorer",
    ],
    ...amongIds(p, ids),
    where: [
      "endsWith(op_key, 'Evaluation.evaluate')",
      ...(evaluations === undefined ? [] : [p.in(evaluation, "String", evaluations.flatMap(refSpellings))]),
      ...(models === undefined ? [] : [p.in(model, "String", models.flatMap(refSpellings))]),
    ],
  });
}

/** `trialIds`: of which trials, where that is known. */
function selectParts(
  scope: CallScope,
  p: Parameters,
  request: EvaluationRecordQuery,
  trialIds: readonly string[] | undefined,
): string {
  const { kind, ids, evaluation_run_id: run, trial_id: trial } = request;
  const trials = { rare: run === undefined ? [] : [`parent_id = ${p.bind("String", run)}`], ids: trialIds };
  const selection = {
    ...trials,
    // What the prediction of a trial is, its other calls decide, too.
    ...(kind === "score" && { among: ids }),
    columns: ["trace_id AS call_trace"],
    select: [
      "call_id AS id",
      "call_us AS us",
      "call_trace AS trace",
      "trial_id AS trial",
      "run_id AS run",
      "'' AS evaluation",
      "model",
      `${kind === "score" ? "score_name" : "''"} AS scorer`,
    ],
  };
  const inTrials =
    kind === "prediction"
      ? selectPredictions(scope, p, selection)
      : `${selectTrialCalls(scope, p, selection)} WHERE is_score`;
  const found =
    ids === undefined || kind === "score" ? inTrials : `SELECT * FROM (${inTrials}) WHERE ${p.in("id", "String", ids)}`;
  if (run !== undefined || trial !== undefined) return found;
  const alone = visibleCalls(scope, p, {
    select: ["id", "toUnixTimestamp64Micro(started_at) AS us", "trace_id AS trace", ...noTrial],
    ...amongIds(p, ids),
    where: [
      `JSONExtractString(attributes, 'weave', '${kind}') = 'true'`,
      "JSONExtractString(attributes, 'weave', 'evaluation_run_id') = ''",
    ],
  });
  return `(${found}) UNION ALL (${alone})`;
}
