import { randomUUID } from "node:crypto";
import { valueDigest } from "@heddle/trace-model";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const digest = "YHEjUAIs6OriWOCtnYQAcO0aJ40WXrVYbu0Qa7HwLuw";
const project = tenant();
const digestOf = (n: number) => valueDigest(`{"n":${n}}`);

function tenant(projectId = newProject()) {
  const [entity = "", name = ""] = projectId.split("/");
  return {
    projectId,
    path: { entity, project: name },
    ref: (kind: string, of: string) => `weave:///${projectId}/${kind}/${of}:${digest}`,
  };
}

let second = 0;
/** A call as client libraries write it. */
function call(name: string, parent: { id: string; trace_id: string } | undefined, fields: object) {
  const id = randomUUID();
  const at = new Date(Date.UTC(2026, 3, 10, 9, 0, second++)).toISOString();
  return {
    project_id: project.projectId,
    id,
    trace_id: parent?.trace_id ?? id,
    parent_id: parent?.id,
    op_name: project.ref("op", name),
    started_at: at,
    ended_at: at.replace(".000Z", ".250Z"),
    attributes: {},
    inputs: {},
    output: null,
    summary: {},
    ...fields,
  };
}

interface Trial {
  n: number;
  output: unknown;
  scores: Record<string, unknown>;
}

/** A run in the form of the Python library: rows as refs, the model an object with a method `predict`. */
async function runOfPython(trials: readonly Trial[], inline = false): Promise<string> {
  const self = project.ref("object", "exam");
  const model = project.ref("object", "python-model");
  const run = call("Evaluation.evaluate", undefined, { inputs: { self, model }, display_name: "by Python" });
  const batch: ReturnType<typeof call>[] = [run];
  for (const { n, output, scores } of trials) {
    const example = inline ? { n } : `weave:///${project.projectId}/object/data:${digest}/attr/rows/id/${digestOf(n)}`;
    const trial = call("Evaluation.predict_and_score", run, {
      inputs: { self, model, example },
      output: { output, scores, model_latency: 0.125 },
    });
    const usage = { judge: { prompt_tokens: n, completion_tokens: 1, total_tokens: n + 1, requests: 1 } };
    batch.push(
      call("PythonModel.predict", trial, { inputs: { self: model, n }, output, summary: { usage } }),
      ...Object.entries(scores).map(([scorer, value]) =>
        call(`${scorer}.score`, trial, {
          inputs: { self: project.ref("object", scorer), output },
          output: value,
          summary: { usage },
        }),
      ),
      trial,
    );
  }
  const { entity, project: name } = project.path;
  expect(await service.tracing().callsComplete({ entity, project: name, batch })).toEqual({});
  return run.id;
}

/** The same by the operations. */
async function runOfOperations(trials: readonly Trial[]): Promise<string> {
  const tracing = service.tracing();
  const { path, ref } = project;
  const { evaluation_run_id: id } = await tracing.evaluationRunCreate({
    ...path,
    evaluation: ref("object", "exam"),
    model: ref("object", "other-model"),
  });
  for (const { n, output, scores } of trials) {
    const { prediction_id } = await tracing.predictionCreate({
      ...path,
      model: ref("object", "other-model"),
      inputs: { n },
      output,
      evaluation_run_id: id,
      genai_span_ref: [{ trace_id: "t", span_id: `s${n}` }],
    });
    for (const [scorer, value] of Object.entries(scores)) {
      await tracing.scoreCreate({ ...path, prediction_id, scorer: ref("object", scorer), value });
    }
    // Half of them are still running.
    if (n % 2 === 1) await tracing.predictionFinish({ ...path, prediction_id });
  }
  return id;
}

let python: string;
let operations: string;
beforeAll(async () => {
  await service.tracing().costCreate({
    project_id: project.projectId,
    costs: { judge: { prompt_token_cost: 0.5, completion_token_cost: 2 } },
  });
  await service
    .tracing()
    .tableCreate({ table: { project_id: project.projectId, rows: [{ n: 1 }, { n: 2 }, { n: 3 }] } });
  python = await runOfPython([
    { n: 1, output: 10, scores: { exact: true, points: 0.9 } },
    { n: 2, output: 20, scores: { exact: false, points: 0.5 } },
    { n: 3, output: 30, scores: { exact: true, points: null } },
  ]);
  operations = await runOfOperations([
    { n: 1, output: "one", scores: { exact: false, points: 0.1 } },
    { n: 2, output: "two", scores: { exact: true, points: { deep: { er: 7 } } } },
    { n: 4, output: "four", scores: { exact: true, points: 0.7 } },
  ]);
});

type Query = Omit<Parameters<ReturnType<TestService["tracing"]>["evalResultsQuery"]>[0], "entity" | "project">;
const query = async (more: Query = {}) =>
  service.tracing().evalResultsQuery({ ...project.path, evaluation_run_ids: [python, operations], ...more });
/** The rows of a response by their number. */
const numbers = async (more: Query) =>
  (await query(more)).rows.map(({ row_digest }) => [1, 2, 3, 4].find((n) => digestOf(n) === row_digest));
type Condition = NonNullable<Query["filters"]>[number]["query"];
const field = (name: string, operator: string, value: unknown) =>
  ({ $expr: { [operator]: [{ $getField: name }, { $literal: value }] } }) as unknown as Condition;

test("rows of two runs stand next to each other, whoever made them", async () => {
  const { rows, total_rows, summary, warnings } = await query({ include_raw_data_rows: true });
  expect([total_rows, summary, warnings]).toEqual([4, null, []]);
  expect(rows.map(({ row_digest }) => row_digest)).toEqual([1, 2, 3, 4].map(digestOf).toSorted());
  const row = rows.find(({ row_digest }) => row_digest === digestOf(2));
  expect(row).toEqual({
    row_digest: digestOf(2),
    raw_data_row: `weave:///${project.projectId}/object/data:${digest}/attr/rows/id/${digestOf(2)}`,
    evaluations: [
      {
        evaluation_call_id: python,
        trials: [
          {
            predict_and_score_call_id: expect.any(String) as string,
            predict_call_id: expect.any(String) as string,
            model_output: 20,
            scores: { exact: false, points: 0.5 },
            model_latency_seconds: 0.25,
            total_tokens: 3,
            scorer_call_ids: { exact: expect.any(String) as string, points: expect.any(String) as string },
            total_cost: null,
            genai_span_ref: null,
          },
        ],
      },
      {
        evaluation_call_id: operations,
        trials: [
          {
            predict_and_score_call_id: expect.any(String) as string,
            predict_call_id: expect.any(String) as string,
            // Not finished yet: both are known from the calls.
            model_output: "two",
            scores: { exact: true, points: { deep: { er: 7 } } },
            model_latency_seconds: 0,
            total_tokens: null,
            scorer_call_ids: { exact: expect.any(String) as string, points: expect.any(String) as string },
            total_cost: null,
            genai_span_ref: [{ trace_id: "t", span_id: "s2" }],
          },
        ],
      },
    ],
  });
});

test("a request chooses what is read", async () => {
  const resolved = await query({ include_raw_data_rows: true, resolve_row_refs: true });
  expect(resolved.rows.map(({ raw_data_row }) => raw_data_row)).toEqual(
    resolved.rows.map(({ row_digest }) => ({ n: [1, 2, 3, 4].find((n) => digestOf(n) === row_digest) })),
  );
  const bare = await query({ include_predict_and_score_children: false });
  const trials = bare.rows.flatMap(({ evaluations = [] }) => evaluations.flatMap(({ trials: all = [] }) => all));
  expect(trials).toHaveLength(6);
  for (const trial of trials) expect(trial).toMatchObject({ predict_call_id: null, scorer_call_ids: {} });
  expect(trials.filter(({ scores }) => Object.keys(scores ?? {}).length === 0)).toHaveLength(2);
  expect(await query({ include_rows: false })).toEqual({ rows: [], total_rows: 0, summary: null, warnings: [] });
  expect(await numbers({ require_intersection: true, sort_by: [{ field: "inputs.n", direction: "desc" }] })).toEqual([
    2, 1,
  ]);
  expect((await query({ evaluation_run_ids: [], include_summary: true })).summary).toEqual({
    row_count: 0,
    evaluations: [],
  });
  const reversed = await query({
    evaluation_call_ids: [operations],
    evaluation_run_ids: [python, operations],
    include_summary: true,
  });
  expect(reversed.summary?.evaluations?.map(({ evaluation_call_id: id }) => id)).toEqual([operations, python]);
});

test("costs are those of the prediction, not of scorers", async () => {
  const { rows, summary } = await query({ include_costs: true, include_summary: true });
  const costs = rows.flatMap(({ evaluations = [] }) =>
    evaluations.map(({ evaluation_call_id, trials }) => [evaluation_call_id, trials?.[0]?.total_cost] as const),
  );
  expect(
    costs
      .filter(([run]) => run === python)
      .map(([, cost]) => cost)
      .toSorted(),
  ).toEqual([2.5, 3, 3.5]);
  expect(costs.filter(([run]) => run === operations).map(([, cost]) => cost)).toEqual([null, null, null]);
  expect(summary?.evaluations).toMatchObject([
    { predict_total_tokens: 9, predict_total_cost: 9 },
    { predict_total_tokens: null, predict_total_cost: null },
  ]);
});

test("the summary counts scores by type and path", async () => {
  const { summary } = await query({ include_rows: false, include_summary: true });
  expect(summary?.row_count).toBe(4);
  expect(summary?.evaluations?.[0]).toMatchObject({
    evaluation_call_id: python,
    trial_count: 3,
    evaluation_ref: project.ref("object", "exam"),
    model_ref: project.ref("object", "python-model"),
    display_name: "by Python",
    trace_id: python,
    started_at: expect.stringMatching(/^2026-04-10T09:/) as string,
  });
  const none = {
    numeric_count: 0,
    numeric_mean: null,
    pass_true_count: 0,
    pass_known_count: 0,
    pass_rate: null,
    pass_signal_coverage: null,
  };
  expect(summary?.evaluations?.[0]?.scorer_stats).toEqual([
    {
      ...none,
      scorer_key: "exact",
      path: null,
      value_type: "binary",
      trial_count: 3,
      pass_true_count: 2,
      pass_known_count: 3,
      pass_rate: 2 / 3,
      pass_signal_coverage: 1,
    },
    {
      ...none,
      scorer_key: "points",
      path: null,
      value_type: "continuous",
      trial_count: 3,
      numeric_count: 2,
      numeric_mean: 0.7,
    },
  ]);
  expect(summary?.evaluations?.[1]?.scorer_stats).toMatchObject([
    { scorer_key: "exact", pass_rate: 2 / 3 },
    { scorer_key: "points", path: null, numeric_count: 2, numeric_mean: expect.closeTo(0.4) as number },
    { scorer_key: "points", path: "deep.er", numeric_count: 1, numeric_mean: 7 },
  ]);
  const common = await query({ include_summary: true, summary_require_intersection: true });
  expect([common.rows.length, common.summary?.row_count]).toEqual([4, 2]);
  expect(common.summary?.evaluations?.map(({ trial_count }) => trial_count)).toEqual([2, 2]);
});

describe("rows are sorted", () => {
  test.each<[string, NonNullable<Query["sort_by"]>, number[]]>([
    ["by a field of the row", [{ field: "inputs.n", direction: "asc" }], [1, 2, 3, 4]],
    ["by the mean over all runs, rows without it last", [{ field: "scores.points", direction: "asc" }], [1, 2, 4, 3]],
    [
      "by a boolean",
      [
        { field: "scores.exact", direction: "desc" },
        { field: "inputs.n", direction: "desc" },
      ],
      [4, 3, 2, 1],
    ],
    [
      "by latency",
      [
        { field: "model_latency_seconds", direction: "desc" },
        { field: "inputs.n", direction: "asc" },
      ],
      [3, 1, 2, 4],
    ],
    ["by tokens", [{ field: "total_tokens", direction: "desc" }], [3, 2, 1, 4]],
    [
      "by text",
      [
        { field: "output", direction: "asc" },
        { field: "inputs.n", direction: "asc" },
      ],
      [1, 2, 3, 4],
    ],
    [
      "by the difference of the runs",
      [
        { field: "scores.points", direction: "desc", mode: "difference" },
        { field: "inputs.n", direction: "asc" },
      ],
      [1, 2, 3, 4],
    ],
  ])("%s", async (_, sort_by, wanted) => {
    expect(await numbers({ sort_by })).toEqual(wanted);
    expect(await numbers({ sort_by, limit: 2, offset: 1 })).toEqual(wanted.slice(1, 3));
  });

  test("by one run", async () => {
    const byRun = (run: string) =>
      numbers({
        sort_by: [
          { field: "scores.points", direction: "desc", evaluation_call_id: run },
          { field: "inputs.n", direction: "asc" },
        ],
      });
    expect(await byRun(python)).toEqual([1, 2, 3, 4]);
    expect(await byRun(operations)).toEqual([4, 1, 2, 3]);
  });
});

describe("rows are filtered", () => {
  const byNumber = { sort_by: [{ field: "inputs.n", direction: "asc" as const }] };
  test.each<[string, () => NonNullable<Query["filters"]>, "and" | "or" | undefined, number[]]>([
    ["by a score of any run", () => [{ query: field("scores.exact", "$eq", false) }], undefined, [1, 2]],
    [
      "by a score of one run",
      () => [{ evaluation_call_id: operations, query: field("scores.exact", "$eq", false) }],
      undefined,
      [1],
    ],
    ["inside of a score", () => [{ query: field("scores.points.deep.er", "$gt", 6) }], undefined, [2]],
    [
      "by one of several",
      () => [{ query: field("inputs.n", "$eq", 4) }, { query: field("output", "$eq", 10) }],
      undefined,
      [1, 4],
    ],
    [
      "by all of several",
      () => [
        { evaluation_call_id: python, query: field("scores.exact", "$eq", true) },
        { evaluation_call_id: operations, query: field("scores.exact", "$eq", false) },
      ],
      "and",
      [1],
    ],
    ["by tokens", () => [{ query: field("total_tokens", "$gte", 3) }], undefined, [2, 3]],
    ["by digest", () => [{ query: field("row_digest", "$eq", digestOf(3)) }], undefined, [3]],
    ["to nothing", () => [{ query: field("scores.missing", "$eq", 1) }], undefined, []],
  ])("%s", async (_, filters, filter_logic_operator, wanted) => {
    const request = { ...byNumber, filters: filters(), ...(filter_logic_operator && { filter_logic_operator }) };
    expect(await numbers(request)).toEqual(wanted);
    const { total_rows, summary } = await query({ ...request, limit: 1, offset: 100, include_summary: true });
    expect([total_rows, summary?.row_count]).toEqual([wanted.length, wanted.length]);
  });
});

describe("a request that cannot be is refused with the field that is wrong", () => {
  const post = async (body: object) => {
    const response = await service.fetch(`http://in-process/v2/${project.projectId}/eval_results/query`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { authorization: `Bearer ${service.owner_key}` },
    });
    return [response.status, await response.text()];
  };
  const one = { evaluation_run_ids: ["missing"] };
  test.each<[object, number, RegExp]>([
    [{}, 400, /evaluation_run_ids: names no evaluation run/],
    [
      { evaluation_run_ids: Array.from({ length: 10_000 }, (_, index) => `run-${index}`) },
      400,
      /evaluation_run_ids: more than 1000/,
    ],
    [{ ...one, limit: -1 }, 400, /limit/],
    [{ ...one, offset: -1 }, 400, /offset/],
    [{ ...one, unknown: 1 }, 422, /unknown/],
    [
      { ...one, sort_by: [{ field: "cost", direction: "asc" }] },
      422,
      /sort_by.*results have no field cost; there are row_digest, scores\.<path>/,
    ],
    [
      { ...one, sort_by: [{ field: "scores.a", direction: "asc", evaluation_call_id: "other" }] },
      400,
      /sort_by\.0\.evaluation_call_id/,
    ],
    [{ ...one, filters: [{ query: field("summary.x", "$eq", 1) }] }, 422, /filters.*results have no field summary/],
    [
      { ...one, filters: [{ evaluation_call_id: "other", query: field("scores.x", "$eq", 1) }] },
      400,
      /filters\.0\.evaluation_call_id/,
    ],
    [{ ...one, filters: [{ query: { $expr: { $and: [] } } }] }, 400, /filters\.0/],
    [
      { ...one, filters: Array.from({ length: 21 }, () => ({ query: field("scores.x", "$eq", 1) })) },
      400,
      /more than 20/,
    ],
  ])("%o", async (request, status, reason) => {
    expect(await post(request)).toEqual([status, expect.stringMatching(reason)]);
  });

  test("runs that do not exist are named, and those of other projects look the same", async () => {
    const request = { ...tenant().path, evaluation_run_ids: [python], include_summary: true };
    expect(await service.tracing().evalResultsQuery(request)).toMatchObject({
      rows: [],
      total_rows: 0,
      summary: { row_count: 0, evaluations: [{ evaluation_call_id: python, trial_count: 0, trace_id: null }] },
      warnings: [`there is no evaluation run ${python}`],
    });
  });
});

test("trials without an example, without output, or with scores that are none, are shown as they are", async () => {
  const { path, projectId } = tenant();
  const ids = { project_id: projectId, trace_id: "r", started_at: 1, attributes: {}, summary: {}, ended_at: 2 };
  const batch = [
    { ...ids, id: "r", op_name: "Evaluation.evaluate", inputs: {} },
    { ...ids, id: "a", parent_id: "r", op_name: "Evaluation.predict_and_score", inputs: {} },
    {
      ...ids,
      id: "b",
      parent_id: "r",
      op_name: "Mine.predictAndScore",
      inputs: { example: "text" },
      output: { scores: [1] },
    },
    {
      ...ids,
      id: "c",
      parent_id: "r",
      op_name: "Evaluation.predict_and_score",
      inputs: { example: null },
      output: { output: 1, scores: { "a.b": { "": 1e308, x: [1] } } },
    },
    { ...ids, id: "d", parent_id: "c", op_name: "not a trial", inputs: {} },
  ];
  const tracing = service.tracing();
  expect(await tracing.callsComplete({ ...path, batch })).toEqual({});
  const { rows, summary, total_rows } = await tracing.evalResultsQuery({
    ...path,
    evaluation_run_ids: ["r"],
    include_raw_data_rows: true,
    include_summary: true,
    sort_by: [{ field: "scores.a\\.b.x", direction: "asc" }],
  });
  expect(total_rows).toBe(2);
  expect(rows[0]).toMatchObject({
    row_digest: valueDigest("null"),
    raw_data_row: null,
    evaluations: [
      {
        trials: [
          { predict_and_score_call_id: "a", scores: {} },
          { predict_call_id: "d", model_output: 1 },
        ],
      },
    ],
  });
  expect(rows[1]).toMatchObject({
    raw_data_row: "text",
    evaluations: [{ trials: [{ model_output: null, scores: {} }] }],
  });
  expect(summary?.evaluations?.[0]).toMatchObject({
    trial_count: 3,
    evaluation_ref: null,
    scorer_stats: [
      { scorer_key: "a.b", path: "", numeric_mean: 1e308 },
      { scorer_key: "a.b", path: "x", value_type: null },
    ],
  });
});
