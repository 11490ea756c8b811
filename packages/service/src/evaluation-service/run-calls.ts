import { derivedId, isObjectId } from "@heddle/trace-model";
import type { JsonText } from "@heddle/exact-json";
import type { CallEnd, CallPart, CallStart } from "@heddle/trace-model";
import type { Prediction } from "../runnable-objects/llm-model.js";
import { PlaceholderOps } from "../ingest/placeholder-ops.js";
import type { ObjectStores } from "../objects/object-stores.js";
import type { RunnableScorer } from "./plan-run.js";

/** An evaluation run that the service makes. */
export interface RunIdentity {
  project_id: string;
  /** Of the run, its call and its trace. */
  run_id: string;
  evaluation_ref: string;
  model_ref: string;
  /** Who asked for it. */
  user_id: string;
  /** Microseconds since 1970. */
  started_at: bigint;
  display_name?: string;
  /** The run whose predictions this one scores. */
  source_evaluation_run_id?: string;
}

/** One prediction of a run: the row of the dataset, and the trial. */
export interface RunItem {
  /** Ids follow from it; unique in the run. */
  index: number;
  /** What the row is recorded as: a ref, or the row itself as JSON text. */
  example: JsonText;
  row: JsonText;
}

/** What came of a prediction or a score, in microseconds since 1970. */
export interface Outcome<Value> {
  started_at: bigint;
  ended_at: bigint;
  value?: Value;
  /** Why there is no value. */
  error?: string;
}

export interface ScoreOutcome extends Outcome<JsonText> {
  scorer: RunnableScorer;
}

const placeholder = "This op is run by the service.";

/** The calls of the runs that the service makes. Their ids follow from the run, so that writing them again changes nothing. */
export class RunCalls {
  readonly #ops: PlaceholderOps;

  constructor(services: ObjectStores) {
    this.#ops = new PlaceholderOps(services, placeholder);
  }

  /** The start of the run. */
  async start(run: RunIdentity): Promise<CallPart> {
    const weave = {
      evaluation_run: "true",
      evaluation: run.evaluation_ref,
      model: run.model_ref,
      ...(run.source_evaluation_run_id !== undefined && { source_evaluation_run_id: run.source_evaluation_run_id }),
    };
    return {
      part: "start",
      start: {
        project_id: run.project_id,
        id: run.run_id,
        trace_id: run.run_id,
        op_name: await this.#op(run, "Evaluation.evaluate"),
        started_at: run.started_at,
        wb_user_id: run.user_id,
        display_name: run.display_name,
        attributes: JSON.stringify({ weave }),
        inputs: JSON.stringify({ self: run.evaluation_ref, model: run.model_ref }),
      },
    };
  }

  /** The call of a prediction, without that of its wrapper. */
  async predict(run: RunIdentity, item: RunItem, modelId: string, outcome: Outcome<Prediction>): Promise<CallPart> {
    const { value } = outcome;
    const weave = { prediction: "true", model: run.model_ref, evaluation_run_id: run.run_id };
    const usage = value?.usage === undefined ? {} : { [value.model]: { requests: 1, ...value.usage } };
    return await this.#child(run, {
      id: predictId(run, item.index),
      parent_id: predictAndScoreId(run, item.index),
      op: `${modelId}.predict`,
      attributes: JSON.stringify({ weave }),
      inputs: `{"self":${JSON.stringify(run.model_ref)},"inputs":${item.row}}`,
      outcome,
      output: value?.output,
      summary: JSON.stringify({ usage }),
    });
  }

  /** The call of a score. `predictionId` is the prediction that it is about, of this run or of its source. */
  async score(
    run: RunIdentity,
    item: RunItem,
    { scorer: { ref, scorer }, ...outcome }: ScoreOutcome,
    prediction: { id: string; output: JsonText },
  ): Promise<CallPart> {
    const weave = { score: "true", prediction_id: prediction.id, scorer: ref, evaluation_run_id: run.run_id };
    return await this.#child(run, {
      id: derivedId(run.project_id, run.run_id, item.index, `score ${scorer.name}`),
      parent_id: predictAndScoreId(run, item.index),
      op: `${scorer.name}.score`,
      attributes: JSON.stringify({ weave }),
      inputs: `{"self":${JSON.stringify(ref)},"inputs":${item.row},"output":${prediction.output}}`,
      outcome,
      output: outcome.value,
    });
  }

  /** The wrapper of a prediction and its scores. Once it is stored, the item is done. */
  async predictAndScore(
    run: RunIdentity,
    item: RunItem,
    outcome: Outcome<{ output: JsonText; latency: number | null }>,
    scores: readonly ScoreOutcome[],
    predictionId: string,
  ): Promise<CallPart> {
    const weave = { predict_call_id: predictionId };
    const known = scores.map(({ scorer: { scorer }, value = "null" }) => `${JSON.stringify(scorer.name)}:${value}`);
    const latency = JSON.stringify({ mean: outcome.value?.latency ?? null });
    const failed = scores.find(({ error }) => error !== undefined);
    const error = outcome.error ?? (failed && `${failed.scorer.scorer.name}: ${failed.error}`);
    return await this.#child(run, {
      id: predictAndScoreId(run, item.index),
      parent_id: run.run_id,
      op: predictAndScoreOp,
      attributes: JSON.stringify({ weave }),
      inputs: `{"self":${JSON.stringify(run.evaluation_ref)},"model":${JSON.stringify(run.model_ref)},"example":${item.example}}`,
      outcome: { ...outcome, error },
      output: `{"output":${outcome.value?.output ?? "null"},"scores":{${known.join(",")}},"model_latency":${latency}}`,
    });
  }

  /** The call that summarizes the scores, and the end of the run. */
  async end(run: RunIdentity, summary: JsonText, outcome: Outcome<unknown>): Promise<CallPart[]> {
    const summarize = await this.#child(run, {
      id: derivedId(run.project_id, run.run_id, 0, "summarize"),
      parent_id: run.run_id,
      op: "Evaluation.summarize",
      attributes: "{}",
      inputs: JSON.stringify({ self: run.evaluation_ref }),
      outcome,
      output: summary,
    });
    return [summarize, endOf(run, run.run_id, { outcome, output: summary })];
  }

  /** The end of a run that failed. */
  failure(run: RunIdentity, error: string, endedAt: bigint): CallPart {
    return endOf(run, run.run_id, { outcome: { started_at: run.started_at, ended_at: endedAt, error } });
  }

  async #child(run: RunIdentity, { op, outcome, ...call }: ChildCall): Promise<CallPart> {
    const start: CallStart = {
      project_id: run.project_id,
      id: call.id,
      trace_id: run.run_id,
      parent_id: call.parent_id,
      op_name: await this.#op(run, op),
      started_at: outcome.started_at,
      wb_user_id: run.user_id,
      attributes: call.attributes,
      inputs: call.inputs,
    };
    return { part: "complete", start, end: endOf(run, call.id, { ...call, outcome }).end };
  }

  /** The ref of an op; a name that no object can have is itself the op name. */
  async #op({ project_id }: RunIdentity, name: string): Promise<string> {
    return isObjectId(name) ? await this.#ops.ref(project_id, name) : name;
  }
}

/** Part of the op name of each wrapper; older client libraries write it in camel case. */
const predictAndScoreOp = "Evaluation.predict_and_score";

interface ChildCall {
  id: string;
  parent_id: string;
  op: string;
  attributes: JsonText;
  inputs: JsonText;
  outcome: Outcome<unknown>;
  output?: JsonText | undefined;
  summary?: JsonText;
}

export function predictId(run: Pick<RunIdentity, "project_id" | "run_id">, index: number): string {
  return derivedId(run.project_id, run.run_id, index, "predict");
}

export function predictAndScoreId(run: Pick<RunIdentity, "project_id" | "run_id">, index: number): string {
  return derivedId(run.project_id, run.run_id, index, "predict_and_score");
}

function endOf(
  { project_id }: RunIdentity,
  id: string,
  { outcome, output, summary = "{}" }: Pick<ChildCall, "outcome" | "output" | "summary">,
): { part: "end"; end: CallEnd } {
  const end = {
    project_id,
    id,
    ended_at: outcome.ended_at,
    output: output ?? "null",
    summary,
    exception: outcome.error,
  };
  return { part: "end", end };
}
