import { randomUUID } from "node:crypto";
import { valueDigest } from "@heddle/trace-model";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const projectId = newProject();
const [entity = "", project = ""] = projectId.split("/");
const path = { entity, project };
const ref = (kind: string, name: string) => `weave:///${projectId}/${kind}/${name}:x1`;
const digestOf = (n: number) => valueDigest(`{"n":${n}}`);

let second = 0;
function call(name: string, parent: { id: string; trace_id: string } | undefined, fields: object) {
  const id = randomUUID();
  const startedAt = new Date(Date.UTC(2026, 3, 10, 9, 0, second++)).toISOString();
  return {
    project_id: projectId,
    id,
    trace_id: parent?.trace_id ?? id,
    parent_id: parent?.id,
    op_name: ref("op", name),
    started_at: startedAt,
    ended_at: startedAt,
    attributes: {},
    inputs: {},
    output: null,
    summary: {},
    ...fields,
  };
}

/** A run as the weave libraries write it: `trials` are the scores of predictions by the number of their row. */
async function runOf(trials: ReadonlyArray<readonly [n: number, scores: unknown]>): Promise<string> {
  const self = ref("object", "exam");
  const model = ref("object", "model");
  const run = call("Evaluation.evaluate", undefined, { inputs: { self, model } });
  const below = trials.map(([n, scores]) =>
    call("Evaluation.predict_and_score", run, {
      inputs: { self, model, example: { n } },
      output: { output: n, scores, model_latency: 0.1 },
    }),
  );
  for (let from = 0; from < below.length; from += 1000)
    await service.tracing().callsComplete({ ...path, batch: below.slice(from, from + 1000) });
  await service.tracing().callsComplete({ ...path, batch: [run] });
  return run.id;
}

type Body = Omit<Parameters<ReturnType<TestService["tracing"]>["evalResultsCompare"]>[0], "entity" | "project">;
const compare = (body: Body) => service.tracing().evalResultsCompare({ ...path, ...body });
const numbersOf = ({ rows }: { rows: Array<{ row_digest: string }> }) =>
  rows.map(({ row_digest }) => [1, 2, 3, 4, 5].find((n) => digestOf(n) === row_digest));

test("the row that got worse comes first, and the summary says by how much and how sure it is", async () => {
  const base = await runOf([
    [1, { judge: { correct: true }, points: 0.9 }],
    [2, { judge: { correct: true }, points: 0.8 }],
    [2, { judge: { correct: false }, points: 0.6 }],
    [2, { judge: { correct: true }, points: 0.7 }],
    [3, { judge: { correct: false }, points: 0.1 }],
    [4, { judge: { correct: true }, points: 1 }],
  ]);
  const other = await runOf([
    [1, { judge: { correct: false }, points: 0.2 }],
    [2, { judge: { correct: true }, points: 0.8 }],
    [3, { judge: { correct: true }, points: 0.3 }],
    // Its scorer failed: missing, not 0.
    [4, { judge: null }],
    [5, { judge: { correct: true }, points: 1 }],
  ]);
  const found = await compare({ base, others: [other], bins: 2 });
  expect(found.runs).toMatchObject([
    { evaluation_call_id: base, row_count: 4, trial_count: 6, model_ref: ref("object", "model") },
    { evaluation_call_id: other, row_count: 5, trial_count: 5, evaluation_ref: ref("object", "exam") },
  ]);
  expect([found.score, found.total_rows, found.warnings]).toEqual(["scores.judge.correct", 5, []]);
  expect(numbersOf(found).slice(0, 3)).toEqual(
    [1, 2, 3].toSorted((a, b) => [1, 2, 3].indexOf(a) - [1, 2, 3].indexOf(b)),
  );
  expect(found.rows.slice(0, 2)).toEqual([
    { row_digest: digestOf(1), values: [1, 0], differences: [null, -1], trials: [1, 1], unstable: [false, false] },
    {
      row_digest: digestOf(2),
      values: [expect.closeTo(2 / 3), 1],
      differences: [null, expect.closeTo(1 / 3)],
      trials: [3, 1],
      unstable: [true, false],
    },
  ]);
  const [judge, points] = found.scores;
  expect(judge).toMatchObject({
    field: "scores.judge.correct",
    scorer_key: "judge",
    path: "correct",
    edges: [0, 0.5, 1],
  });
  expect(judge?.runs).toMatchObject([
    { value_type: "binary", count: 4, missing: 0, unstable: 1, counts: [1, 3], difference: null },
    {
      value_type: "binary",
      count: 4,
      missing: 1,
      unstable: 0,
      counts: [1, 3],
      difference: { rows: 3, passed: 1, failed: 1 },
    },
  ]);
  expect(points).toMatchObject({ field: "scores.points", path: null, edges: [0.1, 0.55, 1] });
  expect(points?.runs[1]?.difference).toMatchObject({ rows: 3, higher: 2, lower: 1, equal: 0 });
  const byPoints = await compare({ base, others: [other], score: "scores.points", only: "regressions" });
  expect([byPoints.total_rows, numbersOf(byPoints), byPoints.rows[0]?.differences[1]]).toEqual([
    1,
    [1],
    expect.closeTo(-0.7),
  ]);
  const flips = await compare({ base, others: [other], only: "flips", sort: "row_digest", include_scores: false });
  expect([numbersOf(flips).toSorted((a, b) => Number(a) - Number(b)), flips.scores]).toEqual([[1, 3], []]);
  const unstable = await compare({ base, others: [other], only: "unstable" });
  expect(numbersOf(unstable)).toEqual([2]);
  const costs = await compare({ base, others: [other], score: "scores.points", lower_is_better: true, limit: 1 });
  expect(numbersOf(costs)).toEqual([3]);
});

test("mixed kinds, runs without results and names that no run has are told", async () => {
  const booleans = await runOf([
    [1, { "a.b": true }],
    [2, { "a.b": "good" }],
  ]);
  const numbers = await runOf([
    [1, { "a.b": 0.5 }],
    [2, { "a.b": 0.5 }],
  ]);
  const none = await runOf([]);
  const mixed = await compare({ base: booleans, others: [numbers, none] });
  expect(mixed.score).toBe("scores.a\\.b");
  expect(mixed.warnings).toEqual([
    `the run ${none} has no results`,
    "scores.a\\.b has booleans and numbers: true counts as 1 and false as 0",
  ]);
  expect(mixed.scores[0]?.runs).toMatchObject([
    { value_type: "binary", mean: 1, count: 1, missing: 1 },
    { value_type: "continuous", mean: 0.5, count: 2, difference: { rows: 1, difference: -0.5, low: null, passed: 0 } },
    { value_type: null, mean: null, count: 0, missing: 0, difference: null },
  ]);
  const unknown = await compare({ base: booleans, others: [numbers], score: "scores.nothing" });
  expect(unknown.warnings).toEqual(["none of the runs has a number at scores.nothing"]);
  expect(unknown.rows.map(({ differences }) => differences)).toEqual([
    [null, null],
    [null, null],
  ]);
  const empty = await compare({ base: none, others: [booleans] });
  expect([empty.score, empty.rows.length]).toEqual(["scores.a\\.b", 2]);
  const texts = await runOf([[1, { tone: "kind" }]]);
  expect(await compare({ base: texts, others: [none] })).toMatchObject({
    score: null,
    total_rows: 1,
    scores: [{ edges: [], runs: [{ value_type: "text", mean: null, missing: 1 }, { value_type: null }] }],
  });
});

test("10,000 rows that all failed are missing, not 0, and are counted", { timeout: 300_000 }, async () => {
  const rows = Array.from({ length: 10_000 }, (_, n) => n);
  const base = await runOf(rows.slice(0, 10).map((n) => [n, { exact: n % 2 === 0 }]));
  const failed = await runOf(rows.map((n) => [n, {}]));
  const found = await compare({ base, others: [failed], limit: 10_000 });
  expect([found.rows.length, found.total_rows]).toEqual([10_000, 10_000]);
  expect(found.scores[0]?.runs).toMatchObject([
    { mean: 0.5, count: 10 },
    { mean: null, count: 0, missing: 10_000, difference: null },
  ]);
  expect((await compare({ base, others: [failed], only: "regressions" })).total_rows).toBe(0);
});

test("a comparison that cannot be is refused with the field that is wrong", async () => {
  const base = await runOf([[1, { exact: true }]]);
  const status = async (body: object) => {
    const response = await service.fetch(`http://in-process/v2/${projectId}/eval_results/compare`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { authorization: `Bearer ${service.owner_key}`, "content-type": "application/json" },
    });
    return [response.status, await response.text()];
  };
  const text = (part: string) => expect.stringContaining(part) as string;
  expect(await status({ base, others: [base] })).toEqual([400, text("others.0: ")]);
  expect(await status({ base, others: ["x", "y", "x"] })).toEqual([400, text("others.2: x comes twice")]);
  expect((await compare({ base: "x", others: [base] })).warnings).toEqual(["there is no evaluation run x"]);
  const other = await runOf([[1, { exact: true }]]);
  for (const [more, field] of [
    [{ others: ["1", "2", "3", "4"] }, "others"],
    [{ others: [other], limit: 10_001 }, "limit"],
    [{ others: [other], bins: 51 }, "bins"],
    [{ others: [other], score: "output.x" }, "score"],
    [{ others: [other], score: "scores" }, "score"],
    [{ others: [other], sort: "up" }, "sort"],
  ] as const)
    expect(await status({ base, ...more })).toEqual([422, text(field)]);
});

test("a run alone has its rows in the order of their values, and none that got worse", async () => {
  const base = await runOf([
    [1, { points: 0.9 }],
    [2, { points: 0.1 }],
    [3, { points: null }],
    [4, { points: 0.5 }],
  ]);
  const found = await compare({ base, others: [] });
  expect(found).toMatchObject({ score: "scores.points", total_rows: 4, warnings: [] });
  expect(found.scores).toMatchObject([{ runs: [{ count: 3, missing: 1, difference: null }] }]);
  expect(numbersOf(found)).toEqual([2, 4, 1, 3]);
  expect(found.rows[0]).toMatchObject({ values: [0.1], differences: [null], trials: [1] });
  expect(numbersOf(await compare({ base, others: [], sort: "improvement" }))).toEqual([1, 4, 2, 3]);
  expect(numbersOf(await compare({ base, others: [], lower_is_better: true }))).toEqual([1, 4, 2, 3]);
  for (const only of ["regressions", "improvements", "flips"] as const)
    expect((await compare({ base, others: [], only })).total_rows).toBe(0);
});
