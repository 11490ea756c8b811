import { HeddleError } from "@heddle/errors";
import type { JsonText } from "@heddle/exact-json";
import type { CallPart } from "@heddle/trace-model";
import type { JobAttempt } from "../jobs/job-kind.js";
import type { Prediction } from "../runnable-objects/llm-model.js";
import type { RunServices } from "./run-services.js";
import { jobComputing } from "./job-computing.js";
import type { RunnableRanking, RunnableScorer } from "./plan-run.js";
import { predictAndScoreId, predictId, RunCalls } from "./run-calls.js";
import type { Outcome, RunIdentity, RunItem, ScoreOutcome } from "./run-calls.js";
import { finishedItems } from "./stored-run.js";
import { ScoreSummary } from "../scorers/summarize.js";
import type { SummaryState } from "../scorers/summarize.js";
import { measured, nowUs } from "./with-deadline.js";

/** Characters of outputs. */
const summarizedAtOnce = 1_000_000;

/** Stores the runs that the service makes. Everything can be repeated. */
export class RunRecorder {
  readonly #services: RunServices;
  readonly #calls: RunCalls;
  readonly #onDefect: (error: unknown) => void;

  /** `onDefect` is called with errors of models and scorers that are no `HeddleError`. */
  constructor(services: RunServices, onDefect: (error: unknown) => void) {
    this.#services = services;
    this.#calls = new RunCalls(services);
    this.#onDefect = onDefect;
  }

  /** Stores the start of the run. */
  async start(run: RunIdentity): Promise<void> {
    await this.#ingest([await this.#calls.start(run)]);
  }

  /** Whether the run goes on. Throws `failed` for one that has ended with an error. */
  async state({ project_id, run_id }: RunIdentity): Promise<"open" | "ended" | "deleted"> {
    const call = await this.#services.store.calls.read({ project_id, id: run_id });
    if (call === undefined) return "deleted";
    if (call.exception !== null) throw new HeddleError("failed", call.exception);
    return call.ended_at === null ? "open" : "ended";
  }

  /** Tells whether an item, by its index, is done. */
  async doneItems(run: RunIdentity, signal: AbortSignal): Promise<(index: number) => boolean> {
    const ids = new Set<string>();
    for await (const { id } of finishedItems(this.#services, { ...run, id: run.run_id }, ["id"], signal)) ids.add(id);
    return (index) => ids.has(predictAndScoreId(run, index));
  }

  /** Predicts one row. Throws only when the job was interrupted. */
  async predict(
    attempt: JobAttempt,
    predict: (signal: AbortSignal) => Promise<Prediction>,
  ): Promise<Outcome<Prediction>> {
    return await measured({ ...this.#deadline(attempt), what: "the prediction" }, predict);
  }

  /** Applies the scorers to an output, all at the same time. Throws only when the job was interrupted. */
  async score(
    attempt: JobAttempt,
    scorers: readonly RunnableScorer[],
    scored: Parameters<RunnableScorer["scorer"]["score"]>[0],
  ): Promise<ScoreOutcome[]> {
    return await Promise.all(
      scorers.map(async (scorer) => {
        const deadline = { ...this.#deadline(attempt), what: "the score" };
        const outcome = await measured(deadline, async (signal) => await scorer.scorer.score(scored, signal));
        return { ...outcome, scorer };
      }),
    );
  }

  /** Ranks a group. Throws only when the job was interrupted. */
  async rank(
    attempt: JobAttempt,
    { scorer }: RunnableRanking,
    group: Parameters<RunnableRanking["scorer"]["rank"]>[0],
    seed: string,
  ): Promise<Outcome<JsonText[]>> {
    const deadline = { ...this.#deadline(attempt), what: "the ranking" };
    return await measured(deadline, async (signal) => await scorer.rank(group, seed, signal));
  }

  /**
   * Stores an item that is done: first what it consists of, then its wrapper, so that one that was cut off in between is
   * done again. `predicted` is absent for a prediction of another run.
   */
  async store(
    run: RunIdentity,
    attempt: JobAttempt,
    item: RunItem,
    {
      predicted,
      outcome,
      scores,
      predictionId = predictId(run, item.index),
    }: {
      predicted?: { model: string; outcome: Outcome<Prediction> };
      outcome: Outcome<{ output: JsonText; latency: number | null }>;
      scores: readonly ScoreOutcome[];
      predictionId?: string;
    },
  ): Promise<void> {
    const parts: CallPart[] = [];
    if (predicted !== undefined) {
      parts.push(await this.#calls.predict(run, item, predicted.model, predicted.outcome));
    }
    const prediction = { id: predictionId, output: outcome.value?.output ?? "null" };
    for (const score of scores) parts.push(await this.#calls.score(run, item, score, prediction));
    const wrapper = await this.#calls.predictAndScore(run, item, outcome, scores, predictionId);
    attempt.checkHeld();
    await this.#ingest(parts);
    attempt.checkHeld();
    await this.#ingest([wrapper]);
  }

  /** Summarizes what is stored and ends the run. */
  async end(run: RunIdentity, attempt: JobAttempt): Promise<void> {
    const startedAt = nowUs();
    const summary = await this.#summary(run, attempt);
    const parts = await this.#calls.end(run, summary, { started_at: startedAt, ended_at: nowUs() });
    attempt.checkHeld();
    await this.#ingest(parts);
  }

  /** Outputs may be large: they are read in a thread, those of a batch at a time. */
  async #summary(run: RunIdentity, { sharer, signal }: JobAttempt): Promise<JsonText> {
    const computing = jobComputing(this.#services.config, { id: run.run_id, sharer });
    let state: SummaryState | undefined;
    let outputs: JsonText[] = [];
    let length = 0;
    const add = async () => {
      state = await computing.run("addToSummary", { state, outputs }, { signal });
      [outputs, length] = [[], 0];
    };
    for await (const { output } of finishedItems(this.#services, { ...run, id: run.run_id }, ["output"], signal)) {
      outputs.push(output);
      length += output.length;
      if (length >= summarizedAtOnce) await add();
    }
    await add();
    return new ScoreSummary(state).text();
  }

  /** Ends the run with an error, unless it has ended. */
  async fail(run: RunIdentity, error: string): Promise<void> {
    await this.start(run);
    const call = await this.#services.store.calls.read({ project_id: run.project_id, id: run.run_id });
    if (call === undefined || call.ended_at !== null) return;
    await this.#ingest([this.#calls.failure(run, error, nowUs())]);
  }

  /** Deletes what was stored after the run was deleted. */
  async delete({ project_id, run_id, user_id }: RunIdentity): Promise<void> {
    await this.#services.store.calls.delete(project_id, [run_id], user_id);
  }

  #deadline({ signal }: JobAttempt) {
    return { signal, timeoutMs: this.#services.config.evaluationTimeoutMs, onDefect: this.#onDefect };
  }

  async #ingest(parts: readonly CallPart[]): Promise<void> {
    const [rejected] = await this.#services.store.ingest(parts);
    if (rejected !== undefined) throw new HeddleError("failed", `a call cannot be stored: ${rejected.message}`);
  }
}
