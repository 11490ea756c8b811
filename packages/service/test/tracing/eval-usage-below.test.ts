import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

/*
 * Predictions of clients that do not add children up: calls below them report the tokens, at any depth. What a row, a filter,
 * the order and the summary show is what `/calls/usage` says of the prediction.
 */

let service: TestService;
const projectId = newProject();
const [entity = "", project = ""] = projectId.split("/");
const digest = "YHEjUAIs6OriWOCtnYQAcO0aJ40WXrVYbu0Qa7HwLuw";
const op = (name: string) => `weave:///${projectId}/op/${name}:${digest}`;
const at = new Date(Date.UTC(2026, 3, 10, 9)).toISOString();

const addsUp = { weave: { client_version: "0.54.0", source: "python-sdk" } };

interface Tree {
  op: string;
  /** Whether the client says that it adds children up. */
  adds_up?: boolean;
  usage?: Record<string, number>;
  below?: Tree[];
}

/** Calls of a tree, the parent first. */
function calls(
  tree: Tree,
  parent?: { id: string; trace_id: string },
  inputs: object = {},
  output: unknown = null,
): object[] {
  const id = randomUUID();
  const trace = parent?.trace_id ?? id;
  const usage = Object.entries(tree.usage ?? {}).map(([model, n]) => [
    model,
    { prompt_tokens: n, completion_tokens: 0, total_tokens: n, requests: 1 },
  ]);
  const call = {
    project_id: projectId,
    id,
    trace_id: trace,
    parent_id: parent?.id,
    op_name: op(tree.op),
    started_at: at,
    ended_at: at,
    attributes: tree.adds_up === true ? addsUp : {},
    inputs,
    output,
    summary: { usage: Object.fromEntries(usage) as object },
  };
  return [call, ...(tree.below ?? []).flatMap((child) => calls(child, call))];
}

const llm = (n: number): Tree => ({ op: "chat", usage: { judge: n } });

/** What each example's trial consists of, besides a score by a judge; and the tokens and the cost of its prediction. */
const trials: Array<{ trial: Tree[]; tokens: number | null; cost: number | null }> = [
  { trial: [{ op: "Model.predict" }], tokens: null, cost: null },
  { trial: [{ op: "Model.predict", below: [llm(1), { op: "step", below: [llm(4)] }] }], tokens: 5, cost: 10 },
  // A parent of 10 and a child of 5 without a mark are 15.
  { trial: [{ op: "Model.predict", usage: { judge: 10 }, below: [llm(5)] }], tokens: 15, cost: 30 },
  { trial: [{ op: "Model.predict", below: [{ op: "chat", usage: { unknown: 7 } }] }], tokens: 7, cost: null },
  // A client that adds up, above one of its own calls and one of another client.
  {
    trial: [
      {
        op: "Model.predict",
        adds_up: true,
        usage: { judge: 3 },
        below: [{ op: "chat", adds_up: true, usage: { judge: 3 } }, llm(8)],
      },
    ],
    tokens: 11,
    cost: 22,
  },
  // Beside the prediction: of the trial, and not of the prediction.
  { trial: [{ op: "Model.predict" }, llm(50)], tokens: null, cost: null },
];

let runId: string;
beforeAll(async () => {
  service = await openTestService();
  await service
    .tracing()
    .costCreate({ project_id: projectId, costs: { judge: { prompt_token_cost: 2, completion_token_cost: 2 } } });
  const [run] = calls({ op: "Evaluation.evaluate" }) as Array<{ id: string; trace_id: string }>;
  if (run === undefined) throw new Error("there is no run");
  runId = run.id;
  const batch = trials.flatMap(({ trial }, n) =>
    calls(
      { op: "Evaluation.predict_and_score", below: [...trial, { op: "exact.score", below: [llm(100)] }] },
      run,
      { example: { n } },
      { output: n, scores: { exact: true } },
    ),
  );
  expect(await service.tracing().callsComplete({ entity, project, batch: [run, ...batch] as never })).toEqual({});
});
afterAll(() => service.close());

const query = async (more: object) =>
  await service.tracing().evalResultsQuery({ entity, project, evaluation_run_ids: [runId], ...more });

/** By the number of the example. */
async function trialsOf(more: object) {
  const { rows } = await query(more);
  return rows.flatMap(({ evaluations = [] }) => evaluations.flatMap(({ trials: of = [] }) => of));
}

test("a trial shows what calls below its prediction used, and what that cost", async () => {
  const listed = await trialsOf({ include_costs: true });
  const byExample = listed
    .toSorted((a, b) => Number(a.model_output) - Number(b.model_output))
    .map(({ total_tokens, total_cost }) => ({ tokens: total_tokens, cost: total_cost }));
  expect(byExample).toEqual(trials.map(({ tokens, cost }) => ({ tokens, cost })));
  const ids = listed.map(({ predict_call_id }) => String(predict_call_id));
  const { call_usage } = await service.tracing().callsUsage({ project_id: projectId, call_ids: ids });
  for (const { predict_call_id, total_tokens } of listed) {
    const used = Object.values(call_usage[String(predict_call_id)] ?? {});
    expect(used.reduce((sum, row) => sum + Number(row.total_tokens), 0)).toBe(total_tokens ?? 0);
  }
});

test("filters and the order know it", async () => {
  const atLeast = { $expr: { $gte: [{ $getField: "total_tokens" }, { $literal: 7 }] } };
  const filtered = await trialsOf({
    filters: [{ query: atLeast }],
    sort_by: [{ field: "total_tokens", direction: "desc" }],
  });
  expect(filtered.map(({ model_output }) => model_output)).toEqual([2, 4, 3]);
  const sorted = await trialsOf({ sort_by: [{ field: "total_tokens", direction: "desc" }], limit: 3 });
  expect(sorted.map(({ total_tokens }) => total_tokens)).toEqual([15, 11, 7]);
});

test("the summary adds it up, of the rows that a filter selects", async () => {
  const summary = async (more: object) =>
    (await query({ include_rows: false, include_summary: true, include_costs: true, ...more })).summary?.evaluations;
  expect(await summary({})).toMatchObject([{ predict_total_tokens: 38, predict_total_cost: 62 }]);
  const of = (n: number) => ({
    filters: [{ query: { $expr: { $eq: [{ $getField: "inputs.n" }, { $literal: n }] } } }],
  });
  expect(await summary(of(1))).toMatchObject([{ predict_total_tokens: 5, predict_total_cost: 10 }]);
  expect(await summary(of(5))).toMatchObject([{ predict_total_tokens: null, predict_total_cost: null }]);
});
