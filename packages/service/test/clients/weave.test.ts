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

interface Report {
  roots: string[];
  summary: Record<string, unknown>;
  prompt: string;
  readPrompt: unknown;
  dataset: string;
  readRows: unknown[];
  foundRows: unknown[];
  foundEvaluation: unknown;
}

test("the weave SDK traces, publishes, evaluates and scores unmodified", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  const [entity = "", project = ""] = projectId.split("/");
  const at = { entity, project };
  const rows = [{ question: "4+4?", expected: "8" }, { question: "5+5?" }];
  const created = await tracing.datasetCreate({ ...at, name: "not by the SDK", rows });
  const ref = `weave:///${projectId}/object/not_by_the_sdk:${created.digest}`;
  const { evaluation_ref } = await tracing.evaluationCreate({ ...at, name: "own", dataset: ref });
  const program = { url, key: service.owner_key, args: [projectId, ref, evaluation_ref], start: '{"roots"' };
  const report = (await runProgram(new URL("weave-program.ts", import.meta.url), program)) as Report;

  const calls: Awaited<ReturnType<typeof tracing.callsQuery>>["calls"] = [];
  for await (const call of tracing.callsQueryStream({ project_id: projectId })) calls.push(call);
  const named = (name: string) => calls.filter((call) => call.op_name.includes(`/op/${name}:`));

  const [greet] = named("greet");
  const [shout] = named("shout");
  expect(greet).toMatchObject({
    output: "hello CAFÉ",
    parent_id: null,
    display_name: "renamed by the SDK",
    attributes: { stage: "test", weave: { source: "js-sdk" } },
    summary: { weave: { status: "success" } },
  });
  expect(shout).toMatchObject({ parent_id: greet?.id, trace_id: greet?.trace_id, output: "CAFÉ" });
  expect(named("count")[0]).toMatchObject({ output: [1, 2, 3] });
  expect(named("fail")[0]).toMatchObject({ summary: { weave: { status: "error" } } });
  expect(named("fail")[0]?.exception).toContain("nothing works");
  expect(calls.filter((call) => call.ended_at === null)).toEqual([]);

  // Media: the SDK computed the digest itself and uploaded beside the call.
  const image = named("picture")[0]?.output as { files: Record<string, string> };
  const bytes = await tracing.fileContent({ project_id: projectId, digest: image.files["image.png"] ?? "" });
  expect(Buffer.from(bytes).subarray(1, 4).toString()).toBe("PNG");

  // Datasets: rows in order, duplicates kept, row refs of the evaluation resolve.
  expect(report.readRows).toHaveLength(3);
  const examples = named("Evaluation.predictAndScore").map((call) => (call.inputs as { example: string }).example);
  expect(examples).toHaveLength(3);
  const { vals } = await tracing.refsReadBatch({ refs: examples });
  expect(vals).toEqual(expect.arrayContaining([{ question: "3+3?", expected: "6" }]));
  expect(report.summary).toMatchObject({ exact: { true_count: 2 } });
  expect(report.readPrompt).toMatchObject({ content: "Answer {question}" });

  // What the SDK published, the operations of its kind show, and the other way round.
  const all = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
    const found: Item[] = [];
    for await (const item of items) found.push(item);
    return found;
  };
  expect(report.dataset).toMatch(/object\/questions:/);
  const published = await tracing.datasetRead({ ...at, object_id: "questions", digest: "latest" });
  const table = await tracing.tableQuery({ project_id: projectId, digest: published.rows.split("/").at(-1) ?? "" });
  expect(report.readRows).toMatchObject(table.rows.map(({ val }) => val as object));
  expect((await tracing.opRead({ ...at, object_id: "shout", digest: "v0" })).code).toContain("toUpperCase()");
  const evaluations = await all(tracing.evaluationList(at));
  expect(evaluations.map(({ name, dataset, scorers, trials }) => [name, dataset, scorers.length, trials])).toEqual([
    ["own", ref, 0, 1],
    ["sums", report.dataset, 1, 1],
    ["logged by hand", "some-rows", 0, 1],
  ]);
  expect(evaluations[1]?.predict_and_score_op).toContain("/op/Evaluation.predictAndScore:");
  expect(await all(tracing.modelList(at))).toMatchObject([{ name: "some-model", source_code: "" }]);
  expect(await all(tracing.scorerList(at))).toMatchObject([{ name: "equals", score_op: "" }]);
  expect(report.foundRows).toEqual(rows);
  expect(report.foundEvaluation).toMatchObject({ name: "own", dataset: ref, trials: 1, _class_name: "Evaluation" });

  // Scores of the evaluation logger are feedback on the predictions, and show there.
  const { result } = await tracing.feedbackQuery({
    project_id: projectId,
    sort_by: [{ field: "created_at", direction: "asc" }],
  });
  const scores = result as { feedback_type: string; payload: unknown; weave_ref: string }[];
  expect(scores.map(({ feedback_type, payload }) => [feedback_type, payload])).toEqual([
    ["wandb.runnable.equals", { output: true }],
    ["wandb.runnable.equals", { output: false }],
  ]);
  const judged = await tracing.callRead({
    project_id: projectId,
    id: scores[0]?.weave_ref.split("/").at(-1) ?? "",
    include_feedback: true,
  });
  expect(judged.call).toMatchObject({
    output: "4",
    summary: { weave: { feedback: [{ feedback_type: "wandb.runnable.equals", payload: { output: true } }] } },
  });

  expect(report.roots.length).toBeGreaterThanOrEqual(5);
  expect(service.unexpected).toEqual([]);
});

test("the program of the guide records its calls and its evaluation", async () => {
  const projectId = newProject();
  const example = new URL("../../../docs/examples/evaluate-with-weave.ts", import.meta.url);
  const program = { url, key: service.owner_key, args: [projectId], start: "{" };
  expect(await runProgram(example, program)).toMatchObject({ matches: { true_count: 1 } });
  const ops: string[] = [];
  for await (const call of service.tracing().callsQueryStream({ project_id: projectId })) ops.push(call.op_name);
  expect(ops.filter((name) => /\/op\/(lookUp|reply|matches):/.test(name))).toHaveLength(6);
});
