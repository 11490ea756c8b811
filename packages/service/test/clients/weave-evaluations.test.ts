import { valueDigest } from "@heddle/trace-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { runProgram } from "./run-program.js";

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService();
  url = await service.listen();
});
afterAll(() => service.close());

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const rows = [
  { question: "2+2?", expected: "4" },
  { question: "3+3?", expected: "6" },
  { question: "5+5?", expected: "10" },
];
const digestOf = (row: object) => valueDigest(JSON.stringify(row));

test("evaluations of the weave SDK are runs, predictions and scores, and their results have the SDK's numbers", async () => {
  const projectId = newProject();
  const [entity = "", project = ""] = projectId.split("/");
  const program = { url, key: service.owner_key, args: [projectId], start: '{"summary"' };
  const { summary: sdk } = (await runProgram(new URL("evaluation-program.ts", import.meta.url), program)) as {
    summary: Record<string, Record<string, unknown>>;
  };
  const tracing = service.tracing();
  const path = { entity, project };

  const runs = await collect(tracing.evaluationRunList(path));
  expect(runs).toHaveLength(2);
  const [run, logged] = runs;
  if (run === undefined || logged === undefined) return;
  expect(run).toMatchObject({ status: "completed", evaluation: expect.stringContaining("/object/sums:") as string });
  expect(run.model).toContain("/op/alwaysFour:");
  expect(logged.model).toContain("/object/some-model:");
  expect(await collect(tracing.evaluationRunList({ ...path, models: [logged.model] }))).toEqual([logged]);

  // A model that throws made a prediction, too.
  const ofRun = { ...path, evaluation_run_id: run.evaluation_run_id };
  const predictions = await collect(tracing.predictionList(ofRun));
  expect(predictions.map(({ output }) => String(output)).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    "10",
    "10",
    "4",
    "4",
    "null",
    "null",
  ]);
  expect(new Set(predictions.map((one) => one.model))).toEqual(new Set([run.model]));
  const scores = await collect(tracing.scoreList({ ...path, evaluation_run_id: logged.evaluation_run_id }));
  expect(scores.map(({ scorer, value }) => [/object\/(\w+):/.exec(scorer)?.[1], value])).toEqual(
    expect.arrayContaining([
      ["exact", true],
      ["points", 0],
      ["points", 0.25],
      ["points", 0.5],
    ]),
  );
  expect(scores).toHaveLength(6);
  const [first] = scores;
  expect(await tracing.scoreRead({ ...path, score_id: first?.score_id ?? "" })).toEqual(first);

  const both = [run.evaluation_run_id, logged.evaluation_run_id];
  const results = await tracing.evalResultsQuery({
    ...path,
    evaluation_run_ids: both,
    include_raw_data_rows: true,
    resolve_row_refs: true,
    include_summary: true,
  });
  expect(results.warnings).toEqual([]);
  // Rows of a dataset and rows that were given as they are meet.
  expect(results.rows.map(({ row_digest, raw_data_row }) => [row_digest, raw_data_row])).toEqual(
    rows.map((row) => [digestOf(row), row] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  const row = (index: number) => results.rows.find(({ row_digest }) => row_digest === digestOf(rows[index] ?? {}));
  expect(row(0)?.evaluations?.map(({ evaluation_call_id, trials }) => [evaluation_call_id, trials?.length])).toEqual([
    [both[0], 2],
    [both[1], 1],
  ]);
  expect(row(0)?.evaluations?.[0]?.trials?.[0]).toMatchObject({
    model_output: "4",
    scores: { exact: true, graded: { length: 1, isShort: true, note: "as it should be" } },
    scorer_call_ids: { exact: expect.any(String) as string, graded: expect.any(String) as string },
    model_latency_seconds: expect.any(Number) as number,
    total_tokens: null,
  });
  expect(row(1)?.evaluations?.[0]?.trials?.[0]).toMatchObject({ model_output: null, scores: {} });
  expect(row(2)?.evaluations?.[0]?.trials?.[0]?.scores).toEqual({ exact: true });
  expect(row(2)?.evaluations?.[1]?.trials?.[0]).toMatchObject({
    model_output: "10",
    scores: { exact: true, points: 0.5 },
  });
  const [ofModel] = row(0)?.evaluations?.[0]?.trials ?? [];
  expect(predictions.map(({ prediction_id }) => prediction_id)).toContain(ofModel?.predict_call_id);

  const [summary, loggedSummary] = results.summary?.evaluations ?? [];
  const stat = (from: typeof summary, scorer: string, at: string | null = null) =>
    from?.scorer_stats?.find(({ scorer_key, path: where }) => scorer_key === scorer && where === at);
  expect(summary).toMatchObject({ trial_count: 6, evaluation_ref: run.evaluation, model_ref: run.model });
  expect(stat(summary, "exact")).toMatchObject({
    value_type: "binary",
    pass_true_count: sdk["exact"]?.["true_count"],
    // The SDK divides by all trials.
    pass_rate: 1,
    pass_signal_coverage: sdk["exact"]?.["true_fraction"],
  });
  expect(stat(summary, "graded", "isShort")).toMatchObject({ pass_true_count: 2, pass_known_count: 2 });
  expect(stat(summary, "graded", "length")).toMatchObject({ numeric_count: 2, numeric_mean: 1 });
  expect(stat(summary, "graded", "note")).toMatchObject({ value_type: "text" });
  expect(stat(loggedSummary, "points")).toMatchObject({ numeric_count: 3, numeric_mean: 0.25 });
  const compared = await tracing.evalResultsCompare({
    ...path,
    base: run.evaluation_run_id,
    others: [logged.evaluation_run_id],
    score: "scores.exact",
  });
  expect(compared.runs).toMatchObject([
    { row_count: 3, trial_count: 6, model_ref: run.model },
    { row_count: 3, trial_count: 3, model_ref: logged.model },
  ]);
  // The model throws for one row: it has no score in the first run, and no difference.
  expect(compared.rows.map(({ row_digest, differences }) => [row_digest, differences[1]])).toEqual([
    ...[0, 2]
      .map((index) => digestOf(rows[index] ?? {}))
      .toSorted()
      .map((digest) => [digest, 0]),
    [digestOf(rows[1] ?? {}), null],
  ]);
  expect(compared.scores.find(({ field }) => field === "scores.exact")?.runs).toMatchObject([
    { value_type: "binary", mean: 1, count: 2, missing: 1, unstable: 0 },
    {
      value_type: "binary",
      mean: 1,
      count: 3,
      missing: 0,
      difference: { rows: 2, difference: 0, passed: 0, failed: 0 },
    },
  ]);
  const { call } = await tracing.callRead({ project_id: projectId, id: logged.evaluation_run_id });
  await tracing.evaluationRunFinish({ ...path, evaluation_run_id: logged.evaluation_run_id, summary: {} });
  const finished = await tracing.callRead({ project_id: projectId, id: logged.evaluation_run_id });
  expect(finished.call).toEqual(call);
  expect(call?.output).toEqual({ exact: { true_count: 3, true_fraction: 1 }, points: { mean: 0.25 } });

  expect(await tracing.evaluationRunDelete({ ...path, evaluation_run_ids: both })).toEqual({ num_deleted: 2 });
  expect(await collect(tracing.predictionList(path))).toEqual([]);
  expect(service.unexpected).toEqual([]);
});
