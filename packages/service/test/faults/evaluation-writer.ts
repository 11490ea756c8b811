import { setTimeout as delay } from "node:timers/promises";
import { untilAcknowledged } from "./until-acknowledged.js";
import type { Wire } from "./wire.js";
import type { Writing } from "./writing.js";

interface Results {
  total_rows: number;
  rows: { evaluations: { trials: { scores: Record<string, unknown>; model_output: unknown }[] }[] }[];
}

/**
 * Records evaluation runs with predictions and scores, in a project of their own, and enters what each must show: rows, trials,
 * scores, predictions, each once.
 */
export async function writeEvaluations(writing: Writing): Promise<void> {
  const { random, ledger, stopped } = writing;
  const project = `${writing.project_id}-runs`;
  const ref = (name: string) => `weave:///${project}/object/${name}:${"A".repeat(43)}`;
  const send = async <Response>(path: string, body: object) =>
    await untilAcknowledged<Response>(writing, `/v2/${project}${path}`, body);
  for (let round = 0; !stopped(); round++) {
    const model = ref("model");
    const { evaluation_run_id: run } = await send<{ evaluation_run_id: string }>("/evaluation_runs", {
      evaluation: ref("exam"),
      model,
    });
    const outputs: string[] = [];
    const count = 1 + Math.floor(random() * 3);
    while (outputs.length < count) {
      const output = `${round} ${random()}`;
      const prediction = { model, evaluation_run_id: run, inputs: { row: outputs.length }, output };
      const { prediction_id: id } = await send<{ prediction_id: string }>("/predictions", prediction);
      await send("/scores", { prediction_id: id, scorer: ref("exact"), value: true });
      await send(`/predictions/${id}/finish`, {});
      outputs.push(output);
    }
    await send(`/evaluation_runs/${run}/finish`, { summary: { round } });
    ledger.contents.push({
      kind: "evaluations",
      what: `the run ${run}`,
      expected: { rows: count, trials: outputs.toSorted().map((output) => [output, true]), predictions: count, round },
      read: async (from) => await shownOf(from, project, run),
    });
    await delay(200);
  }
}

async function shownOf(from: Wire, project: string, run: string) {
  const query = { evaluation_run_ids: [run] };
  const results = await from.ask<Results>(`/v2/${project}/eval_results/query`, query);
  const trials = results.rows.flatMap(({ evaluations }) => evaluations.flatMap((each) => each.trials));
  const predictions = await from.get(`/v2/${project}/predictions?evaluation_run_id=${run}`);
  const { text } = await from.get(`/v2/${project}/evaluation_runs/${run}`);
  return {
    rows: results.total_rows,
    trials: trials
      .map(({ model_output: output, scores }) => [output, scores["exact"]])
      .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    predictions: predictions.text.split("\n").filter((line) => line !== "").length,
    round: (JSON.parse(text) as { summary?: { round?: number } }).summary?.round,
  };
}
