import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { jobKinds } from "../../src/boot/job-kinds.js";
import type { JobRunner } from "../../src/jobs/runner.js";
import { startChatServer } from "../chat-server.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { writeProviders } from "../upstream.js";
import { weaveObject } from "../weave-object.js";

const secret = "sk-very-secret-key";
let directory: string;
let chat: Awaited<ReturnType<typeof startChatServer>>;
let service: TestService;
let project: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "heddle-evaluations-"));
  chat = await startChatServer();
  const provider = { baseUrl: `${chat.url}/v1`, allowPrivate: true, kinds: ["chat-completions"], models: ["loom-*"] };
  const file = writeProviders(directory, {
    acme: { ...provider, apiKey: secret, timeoutSeconds: 60 },
    hasty: { ...provider, apiKey: secret, timeoutSeconds: 1 },
  });
  service = await openTestService({
    HEDDLE_PROVIDERS: file,
    // An entity has two of them.
    HEDDLE_JOB_CONCURRENCY: "3",
    HEDDLE_EVALUATION_CONCURRENCY: "16",
    HEDDLE_EVALUATION_TIMEOUT: "60",
  });
});
afterAll(async () => {
  await service.close();
  await chat.close();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(() => {
  project = newProject();
  chat.asked.clear();
});

async function stored(objectId: string, val: object, builtin?: string, projectId = project): Promise<string> {
  const obj = { project_id: projectId, object_id: objectId, val, builtin_object_class: builtin };
  const { digest } = await service.tracing().objCreate({ obj });
  return `weave:///${projectId}/object/${objectId}:${digest}`;
}

const matches = { ignore_case: true };
const model = async (template = "{prompt}", more: object = {}, objectId = "short-answers") => {
  const params = { messages_template: [{ role: "user", content: template }] };
  const val = { llm_model_id: "acme/loom-8b", default_params: params, ...more };
  return await stored(objectId, val, "LLMStructuredCompletionModel");
};
const exact = async () => await stored("exact", matches, "ExactMatchScorer");
const contains = async () => await stored("mentions", { values: ["warp"] }, "ContainsScorer");

async function dataset(rows: Record<string, unknown>[], projectId = project): Promise<string> {
  const { digest } = await service.tracing().tableCreate({ table: { project_id: projectId, rows } });
  const table = `weave:///${projectId}/table/${digest}`;
  return await stored("questions", weaveObject("Dataset", { name: "questions", rows: table }), undefined, projectId);
}

async function evaluation(rows: Record<string, unknown>[], more: object = {}): Promise<string> {
  const [datasetRef, ...scorers] = await Promise.all([dataset(rows), exact(), contains()]);
  const members = { dataset: datasetRef, scorers, trials: 1, ...more };
  return await stored("weaving", weaveObject("Evaluation", members));
}

const evaluate = async (evaluationRef: string, modelRef: string) => {
  const request = { project_id: project, evaluation_ref: evaluationRef, model_ref: modelRef };
  return (await service.tracing().evaluateModel(request)).call_id;
};
/** Sends a request with a retry id of its own. */
const post = async (path: string, retryId: string, body: object) => {
  const headers = { authorization: `Bearer ${service.owner_key}`, "X-Weave-Retry-Id": retryId };
  const response = await service.fetch(`http://in-process${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, string>;
};
const statusOf = async (callId: string) =>
  (await service.tracing().evaluationStatus({ project_id: project, call_id: callId })).status;

const tracingOf = () => service.tracing();

/** Resolves with the status once the run has ended. */
const ended = async (callId: string) =>
  await vi.waitFor(
    async () => {
      const status = await statusOf(callId);
      expect(status.code).toMatch(/complete|failed/);
      return status;
    },
    { timeout: 10_000, interval: 40 },
  );

interface Call {
  id: string;
  op: string;
  parent_id: string | null;
  trace_id: string;
  inputs: Record<string, unknown>;
  output: Record<string, unknown> | null;
  exception: string | null;
  attributes: { weave?: Record<string, unknown> };
  summary: Record<string, unknown>;
}

/** The calls of the project, by the readable part of their op names. */
async function callsOf(): Promise<{ all: Call[]; of: (op: string, parent?: string) => Call[] }> {
  const { calls } = await service.tracing().callsQuery({ project_id: project });
  const all = calls.map((call) => ({ ...call, op: /\/op\/([^:]+):/.exec(call.op_name)?.[1] ?? call.op_name }));
  const found = all as unknown as Call[];
  return {
    all: found,
    of: (op, parent) => found.filter((call) => call.op === op && (parent ?? call.parent_id) === call.parent_id),
  };
}

test("a run is recorded like one of a client library: predictions, scores, a summary and its end", async () => {
  const rows = [
    { prompt: "slow: the warp", expected: "The warp" },
    { prompt: "say: the weft", expected: "the weft" },
    { prompt: "say: a shuttle", expected: "a loom" },
  ];
  const evaluationRef = await evaluation(rows, { trials: 2, evaluation_name: "first run" });
  const modelRef = await model();
  const id = await evaluate(evaluationRef.replace(/:\w+$/, ":latest"), modelRef);
  const summary = {
    exact: { passed: { mean: 2 / 3, true_count: 4, true_fraction: 2 / 3 } },
    mentions: { passed: { mean: 1 / 3, true_count: 2, true_fraction: 1 / 3 }, score: { mean: 1 / 3 } },
    model_latency: { mean: expect.any(Number) },
  };
  expect(await ended(id)).toMatchObject({ code: "complete", output: summary });

  const { all, of } = await callsOf();
  expect(all).toHaveLength(1 + 6 * 4 + 1);
  const [run] = of("Evaluation.evaluate");
  expect(run).toMatchObject({
    id,
    trace_id: id,
    parent_id: null,
    display_name: "first run",
    inputs: { self: evaluationRef, model: modelRef },
    attributes: { weave: { evaluation_run: "true", evaluation: evaluationRef, model: modelRef } },
    output: summary,
    exception: null,
  });
  expect(of("Evaluation.summarize", id)).toMatchObject([{ output: summary, inputs: { self: evaluationRef } }]);
  const items = of("Evaluation.predict_and_score", id);
  expect(items).toHaveLength(6);
  for (const item of items) {
    expect(item.inputs).toMatchObject({ self: evaluationRef, model: modelRef });
    const example = String(item.inputs["example"]);
    const { vals } = await service.tracing().refsReadBatch({ refs: [example] });
    const row = vals[0] as { prompt: string; expected: string };
    expect(rows).toContainEqual(row);
    const text = row.prompt.split(" ").slice(1).join(" ");
    const [predict] = of("short-answers.predict", item.id);
    expect(predict).toMatchObject({
      trace_id: id,
      inputs: { self: modelRef, inputs: row },
      output: text,
      attributes: { weave: { prediction: "true", model: modelRef, evaluation_run_id: id } },
      summary: { usage: { "acme/loom-8b": { requests: 1, prompt_tokens: 5, total_tokens: 7 } } },
    });
    expect(item.attributes.weave).toEqual({ predict_call_id: predict?.id });
    const [score] = of("exact.score", item.id);
    expect(score).toMatchObject({
      inputs: { inputs: row, output: text },
      output: { passed: text === row.expected.toLowerCase() },
      attributes: { weave: { score: "true", prediction_id: predict?.id, evaluation_run_id: id } },
    });
    expect(of("mentions.score", item.id)).toHaveLength(1);
    expect(item.output).toMatchObject({
      output: text,
      scores: { exact: score?.output, mentions: { passed: text === "the warp" } },
      model_latency: { mean: expect.any(Number) },
    });
  }
  expect(new Set(items.map(({ inputs }) => inputs["example"])).size).toBe(3);
  expect(chat.received.at(-1)?.headers.authorization).toBe(`Bearer ${secret}`);
  expect(service.unexpected).toEqual([]);
});

test("what fails for a row is recorded on its calls, the run goes on, and no key is shown anywhere", async () => {
  const rows = [
    { prompt: "stall: x", expected: "x" },
    { prompt: "garbage: x", expected: "x" },
    { prompt: "fail: x", expected: "x" },
    { prompt: "refuse: x", expected: "x" },
    { prompt: "limit-hour: x", expected: "x" },
    { prompt: "limit: x", expected: "x" },
    { prompt: "limit-date: x", expected: "x" },
    { prompt: "limit-bare: x", expected: "x" },
    { expected: "not a prompt" },
    { prompt: "say: not scored" },
    { prompt: "say: x", expected: "x" },
  ];
  const id = await evaluate(await evaluation(rows), await model("{prompt}", { llm_model_id: "hasty/loom-8b" }));
  expect(await ended(id)).toMatchObject({ code: "complete", output: { exact: { passed: { true_count: 4 } } } });
  const { all, of } = await callsOf();
  const text = JSON.stringify(all);
  expect(text).not.toContain(secret);
  const items = of("Evaluation.predict_and_score", id);
  expect(items).toHaveLength(rows.length);
  const reasonOf = (prompt?: string) => {
    const predict = of("short-answers.predict").find(
      ({ inputs }) => (inputs["inputs"] as { prompt?: string }).prompt === prompt,
    );
    const item = items.find((call) => call.id === predict?.parent_id);
    return { predict: predict?.exception, item: item?.exception, output: item?.output };
  };
  const failed = (reason: RegExp) => ({
    predict: expect.stringMatching(reason),
    item: expect.stringMatching(reason),
    output: { output: null, scores: {}, model_latency: { mean: null } },
  });
  expect(reasonOf("stall: x")).toEqual(failed(/did not respond within 1 s/));
  expect(reasonOf("garbage: x")).toEqual(failed(/not a JSON/));
  expect(reasonOf("fail: x")).toEqual(failed(/status 500: out of memory/));
  expect(reasonOf("refuse: x")).toEqual(failed(/bad key Bearer \*\*\*/));
  expect(reasonOf("limit-hour: x")).toEqual(failed(/429/));
  expect(reasonOf(undefined)).toEqual(failed(/prompt.*expected/));
  for (const word of ["limit", "limit-date", "limit-bare", "say"]) {
    expect(reasonOf(`${word}: x`)).toMatchObject({ predict: null, item: null, output: { output: "x" } });
  }
  expect(reasonOf("say: not scored")).toMatchObject({
    predict: null,
    item: expect.stringMatching(/^exact: .*expected/),
    output: { output: "not scored", scores: { exact: null, mentions: { passed: false } } },
  });
  const failedScores = of("exact.score").filter(({ exception }) => exception !== null);
  expect(failedScores).toMatchObject([{ output: null, exception: expect.stringContaining("expected") }]);
  expect(service.unexpected).toEqual([]);
});

describe("what cannot be run is refused before a run exists", () => {
  const ok = [{ prompt: "say: x", expected: "x" }];
  test.each<[string, number, RegExp, () => Promise<[string, string]>]>([
    [
      "no dataset",
      400,
      /body.evaluation_ref: .*no dataset/,
      async () => [await evaluation(ok, { dataset: null }), await model()],
    ],
    [
      "deleted dataset",
      404,
      /body.evaluation_ref/,
      async () => {
        const refs: [string, string] = [await evaluation(ok), await model()];
        await service.tracing().objDelete({ project_id: project, object_id: "questions" });
        return refs;
      },
    ],
    [
      "deleted evaluation",
      404,
      /body.evaluation_ref/,
      async () => {
        const refs: [string, string] = [await evaluation(ok), await model()];
        await service.tracing().objDelete({ project_id: project, object_id: "weaving" });
        return refs;
      },
    ],
    [
      "deleted scorer",
      404,
      /body.evaluation_ref/,
      async () => {
        const refs: [string, string] = [await evaluation(ok), await model()];
        await service.tracing().objDelete({ project_id: project, object_id: "exact" });
        return refs;
      },
    ],
    [
      "unknown model",
      404,
      /body.model_ref/,
      async () => [await evaluation(ok), `weave:///${project}/object/none:latest`],
    ],
    [
      "dataset of another project",
      400,
      /another project/,
      async () => {
        const foreign = await dataset(ok, newProject());
        return [await evaluation(ok, { dataset: foreign }), await model()];
      },
    ],
    [
      "model of another project",
      400,
      /body.model_ref: .*another project/,
      async () => [await evaluation(ok), (await model()).replace(project, newProject())],
    ],
    ["no ref", 400, /body.model_ref: .*not a ref/, async () => [await evaluation(ok), "short-answers"]],
    [
      "model as evaluation",
      400,
      /body.evaluation_ref: .*not an Evaluation/,
      async () => [await model(), await model()],
    ],
    [
      "unknown provider",
      400,
      /no provider is configured/,
      async () => [await evaluation(ok), await model("{prompt}", { llm_model_id: "nobody/loom-8b" })],
    ],
    [
      "scorer with code",
      400,
      /only an SDK can run/,
      async () => [
        await evaluation(ok, { scorers: [await stored("coded", weaveObject("MyScorer", { score: "x" }))] }),
        await model(),
      ],
    ],
    [
      "two scorers of one name",
      400,
      /two scorers have the name exact/,
      async () => {
        const other = await stored("exact", { ...matches, description: "another version" }, "ExactMatchScorer");
        return [await evaluation(ok, { scorers: [await exact(), other] }), await model()];
      },
    ],
    ["no trials", 400, /trials/, async () => [await evaluation(ok, { trials: 0 }), await model()]],
    [
      "code that prepares rows",
      400,
      /preprocess_model_input/,
      async () => [
        await evaluation(ok, { preprocess_model_input: `weave:///${project}/op/prepare:abc` }),
        await model(),
      ],
    ],
    [
      "rows that are not a table",
      400,
      /no table/,
      async () => {
        const rows = await stored("inline", weaveObject("Dataset", { rows: [{ prompt: "x" }] }));
        return [await evaluation(ok, { dataset: rows }), await model()];
      },
    ],
  ])("%s", async (_name, status, reason, refs) => {
    const [evaluationRef, modelRef] = await refs();
    const error: unknown = await evaluate(evaluationRef, modelRef).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status, message: expect.stringMatching(reason) });
    expect(await service.tracing().callsQueryStats({ project_id: project })).toMatchObject({ count: 0 });
  });
});

test("a run whose objects vanish before it begins fails with the reason", async () => {
  const open = chat.closeGate();
  const waiting = [{ prompt: "wait: x", expected: "x" }];
  const evaluationRef = await evaluation(waiting);
  const modelRef = await model();
  const first = [await evaluate(evaluationRef, modelRef), await evaluate(evaluationRef, modelRef)];
  await vi.waitFor(() => expect(chat.waiting()).toBe(2), { timeout: 20_000 });
  // Both slots that an entity has are taken.
  const id = await evaluate(await evaluation([{ prompt: "say: x" }]), await model("{prompt}", {}, "short-lived"));
  expect(await statusOf(id)).toEqual({ code: "running", completed_rows: 0, total_rows: 1 });
  await service.tracing().objDelete({ project_id: project, object_id: "short-lived" });
  open();
  expect(await ended(id)).toMatchObject({ code: "failed", error: expect.stringContaining("short-lived") });
  for (const run of first) expect(await ended(run)).toMatchObject({ code: "complete" });
});

test("deleting the call of a run stops it, and nothing of it stays", async () => {
  const open = chat.closeGate();
  const rows = Array.from({ length: 40 }, (_, n) => ({ prompt: `wait: ${n}`, expected: "x" }));
  const id = await evaluate(await evaluation(rows), await model());
  await vi.waitFor(() => expect(chat.waiting()).toBe(16), { timeout: 20_000 });
  await service.tracing().callsDelete({ project_id: project, call_ids: [id] });
  await vi.waitFor(async () =>
    expect(await service.services.control.jobs.get(project, id)).toMatchObject({ state: "cancelled" }),
  );
  open();
  expect(await statusOf(id)).toEqual({ code: "not_found" });
  expect((await callsOf()).all).toEqual([]);
  expect(chat.waiting()).toBe(16);
});

test("a run goes on after the service has stopped, and finished rows are not predicted again", async () => {
  const rows = Array.from({ length: 60 }, (_, n) => ({ prompt: `${n < 20 ? "say" : "wait"}: ${n}`, expected: `${n}` }));
  const open = chat.closeGate();
  const id = await evaluate(await evaluation(rows), await model());
  await vi.waitFor(
    async () => expect(await statusOf(id)).toEqual({ code: "running", completed_rows: 20, total_rows: 60 }),
    { timeout: 20_000 },
  );
  const { services } = service;
  const runner = services.jobs as JobRunner;
  await runner.stop();
  const stopped = await services.control.jobs.get(project, id);
  open();
  runner.start(jobKinds(services, (error) => service.unexpected.push(error)));
  expect(stopped).toMatchObject({ state: "queued", attempts: 0, progress: { completed: 20, total: 60 } });
  expect(await ended(id)).toMatchObject({
    code: "complete",
    output: { exact: { passed: { true_count: 60, true_fraction: 1 } } },
  });
  for (let n = 0; n < 20; n++) expect(chat.asked.get(`say: ${n}`)).toBe(1);
  const { of } = await callsOf();
  expect(of("Evaluation.predict_and_score", id)).toHaveLength(60);
  expect(of("short-answers.predict")).toHaveLength(60);
  expect(of("exact.score")).toHaveLength(60);
});

test("a repeated request returns the same run", async () => {
  const evaluationRef = await evaluation([{ prompt: "say: x", expected: "x" }]);
  const request = { project_id: project, evaluation_ref: evaluationRef, model_ref: await model() };
  const retryId = randomUUID();
  const send = async () => (await post("/evaluations/evaluate_model", retryId, request))["call_id"] ?? "";
  const [id, again] = await Promise.all([send(), send()]);
  expect(again).toBe(id);
  expect(await ended(id)).toMatchObject({ code: "complete" });
  expect(await send()).toBe(id);
  expect((await callsOf()).of("Evaluation.evaluate")).toHaveLength(1);
});

test("results of a run of the service are those of its calls, whether its objects were made through v2 or not", async () => {
  const [entity = "", name = ""] = project.split("/");
  const at = { entity, project: name };
  const rows = [
    { prompt: "say: the warp", expected: "the warp" },
    { prompt: "say: a loom", expected: "a shuttle" },
    { prompt: "garbage: x", expected: "x" },
  ];
  const { object_id: objectId } = await tracingOf().datasetCreate({ ...at, name: "Weaving questions", rows });
  const named = await stored("named", { name: "names the warp!", values: ["warp"] }, "ContainsScorer");
  const { evaluation_ref: evaluationRef } = await tracingOf().evaluationCreate({
    ...at,
    name: "Weaving",
    dataset: `weave:///${project}/object/${objectId}:latest`,
    scorers: [await exact(), named],
    trials: 2,
  });
  const modelRef = await model();
  const id = await evaluate(evaluationRef, modelRef);
  expect(await ended(id)).toMatchObject({ code: "complete", output: { exact: { passed: { true_fraction: 0.5 } } } });

  expect(await tracingOf().evaluationRunRead({ ...at, evaluation_run_id: id })).toMatchObject({
    status: "completed",
    evaluation: evaluationRef,
    model: modelRef,
  });
  const {
    rows: found,
    summary,
    total_rows: total,
  } = await tracingOf().evalResultsQuery({
    ...at,
    evaluation_run_ids: [id],
    include_summary: true,
  });
  expect(total).toBe(3);
  for (const row of found) {
    const trials = (row.evaluations ?? []).flatMap((one) => one.trials ?? []);
    expect(trials).toHaveLength(2);
    for (const trial of trials) {
      expect(trial.predict_call_id).toEqual(expect.any(String));
      const scorers = Object.keys(trial.scorer_call_ids ?? {});
      if (trial.model_output === null) expect(scorers).toEqual([]);
      else expect(scorers.toSorted()).toEqual(["exact", "names the warp!"]);
    }
  }
  const stats = summary?.evaluations?.[0]?.scorer_stats;
  expect(stats).toContainEqual(
    expect.objectContaining({ scorer_key: "exact", path: "passed", pass_true_count: 2, pass_known_count: 4 }),
  );
  expect(new Set(stats?.map(({ scorer_key }) => scorer_key))).toEqual(new Set(["exact", "names the warp!"]));

  expect(await tracingOf().evaluationRunDelete({ ...at, evaluation_run_ids: [id] })).toEqual({ num_deleted: 1 });
  expect(await statusOf(id)).toEqual({ code: "not_found" });
});

test("an empty dataset is evaluated at once", async () => {
  const id = await evaluate(await evaluation([]), await model());
  expect(await ended(id)).toEqual({ code: "complete", output: {} });
});

test("the status of a run of a client library counts its finished rows", async () => {
  const rows = [{ prompt: "a" }, { prompt: "b" }, { prompt: "c" }];
  const evaluationRef = await evaluation(rows, { trials: 2, scorers: [] });
  const at = new Date().toISOString();
  const id = randomUUID();
  const start = async (callId: string, opName: string, parent?: string) =>
    await service.tracing().callStart({
      start: {
        project_id: project,
        id: callId,
        trace_id: id,
        parent_id: parent,
        op_name: opName,
        started_at: at,
        attributes: {},
        inputs: { self: evaluationRef },
      },
    });
  const end = async (callId: string, output: object, exception?: string) =>
    await service
      .tracing()
      .callEnd({ end: { project_id: project, id: callId, ended_at: at, output, exception, summary: {} } });
  await start(id, `weave:///${project}/op/Evaluation.evaluate:abc`);
  expect(await statusOf(id)).toEqual({ code: "running", completed_rows: 0, total_rows: 6 });
  await start("item-1", `weave:///${project}/op/Evaluation.predict_and_score:abc`, id);
  await start("item-2", "Evaluation.predictAndScore", id);
  await end("item-2", {});
  expect(await statusOf(id)).toEqual({ code: "running", completed_rows: 1, total_rows: 6 });
  await end(id, { exact: { mean: 1 } });
  expect(await statusOf(id)).toEqual({ code: "complete", output: { exact: { mean: 1 } } });
  const failing = randomUUID();
  await start(failing, "Evaluation.evaluate");
  await end(failing, {}, "out of rows");
  expect(await statusOf(failing)).toEqual({ code: "failed", error: "out of rows" });
  expect(await statusOf(randomUUID())).toEqual({ code: "not_found" });
  await expect(statusOf("item-1")).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("not an evaluation run"),
  });
});

describe("a run that is scored again", () => {
  const rescore = async (source: string, refs: string[]) =>
    await service
      .tracing()
      .evaluationsRescore({ project_id: project, source_evaluation_run_id: source, scorer_refs: refs });

  test("has the outputs of the earlier one, other scores, and calls no model", async () => {
    const rows = [
      { prompt: "say: warp and weft", expected: "x" },
      { prompt: "say: a loom", expected: "x" },
      { prompt: "garbage: x", expected: "x" },
    ];
    const source = await evaluate(await evaluation(rows, { scorers: [await exact()] }), await model());
    await ended(source);
    const requests = chat.received.length;
    const { call_id: id, evaluation_run_id } = await rescore(source, [await contains()]);
    expect(evaluation_run_id).toBe(id);
    expect(await ended(id)).toMatchObject({ output: { mentions: { passed: { true_count: 1, true_fraction: 0.5 } } } });
    expect(chat.received).toHaveLength(requests);
    const { of } = await callsOf();
    expect(of("Evaluation.evaluate").find((call) => call.id === id)).toMatchObject({
      attributes: { weave: { source_evaluation_run_id: source } },
    });
    const old = of("Evaluation.predict_and_score", source);
    const items = of("Evaluation.predict_and_score", id);
    const key = ({ inputs }: Call) => String(inputs["example"]);
    expect(items.map(key).toSorted()).toEqual(old.map(key).toSorted());
    for (const item of items) {
      const earlier = old.find((call) => key(call) === key(item));
      expect(item.attributes).toEqual(earlier?.attributes);
      expect(item.output?.["output"]).toEqual(earlier?.output?.["output"]);
      expect(item.exception).toBe(earlier?.exception);
      const scored = item.exception === null ? ["mentions"] : [];
      expect(Object.keys(item.output?.["scores"] as object)).toEqual(scored);
      expect(of("mentions.score", item.id)).toHaveLength(scored.length);
    }
  });

  test("must exist, be a run, and have ended", async () => {
    const scorer = await exact();
    await expect(rescore(randomUUID(), [scorer])).rejects.toMatchObject({ status: 404 });
    await expect(rescore(randomUUID(), [])).rejects.toMatchObject({ status: 422 });
    const open = chat.closeGate();
    const running = await evaluate(await evaluation([{ prompt: "wait: x", expected: "x" }]), await model());
    await expect(rescore(running, [scorer])).rejects.toMatchObject({ status: 409 });
    open();
    await ended(running);
    const [item] = (await callsOf()).of("Evaluation.predict_and_score", running);
    await expect(rescore(item?.id ?? "", [scorer])).rejects.toMatchObject({ status: 400 });
    await expect(rescore(running, [await model()])).rejects.toMatchObject({ status: 400 });
  });
});

describe("calls that are scored", () => {
  const start = async (inputs: Record<string, unknown>, output?: unknown) => {
    const id = randomUUID();
    const at = new Date().toISOString();
    const one = { project_id: project, id, trace_id: id, op_name: "answer", started_at: at, attributes: {}, inputs };
    await service.tracing().callStart({ start: one });
    if (output !== undefined) {
      await service.tracing().callEnd({ end: { project_id: project, id, ended_at: at, output, summary: {} } });
    }
    return id;
  };
  const feedback = async () => {
    const { result } = await service.tracing().feedbackQuery({ project_id: project });
    return result as unknown as { weave_ref: string; feedback_type: string; runnable_ref: string; payload: object }[];
  };

  test("have the scores as feedback, once; calls that are missing or run are skipped", async () => {
    const right = await start({ expected: "a loom" }, "a loom");
    const unscorable = await start({}, "no expectation");
    const running = await start({ expected: "x" });
    const refs = [await exact(), await contains()];
    const retryId = randomUUID();
    const request = {
      project_id: project,
      call_ids: [right, unscorable, running, randomUUID(), right],
      scorer_refs: refs,
    };
    const send = async () => await post("/calls/score", retryId, request);
    expect(await send()).toEqual({});
    expect(await send()).toEqual({});
    await vi.waitFor(async () => expect(await feedback()).toHaveLength(4), { timeout: 20_000 });
    expect(await send()).toEqual({});
    const all = await feedback();
    expect(all).toHaveLength(4);
    const of = (id: string, type: string) =>
      all.find((one) => one.weave_ref === `weave:///${project}/call/${id}` && one.feedback_type === type);
    expect(of(right, "wandb.runnable.exact")).toMatchObject({
      runnable_ref: refs[0],
      payload: { output: { passed: true } },
    });
    expect(of(right, "wandb.runnable.mentions")).toMatchObject({ payload: { output: { passed: false } } });
    expect(of(unscorable, "wandb.runnable.exact")).toMatchObject({
      payload: { output: null, error: expect.stringContaining("expected") },
    });
    expect(service.unexpected).toEqual([]);
  });

  test("by an attempt that begins again are not scored twice", async () => {
    const ids = [await start({ expected: "a" }, "a"), await start({ expected: "b" }, "b")];
    const payload = JSON.stringify({ call_ids: ids, scorer_refs: [await exact()], user_id: "ann" });
    const jobId = randomUUID();
    const { control } = service.services;
    await service.services.jobs.add({ id: jobId, project_id: project, kind: "score-calls", payload });
    await vi.waitFor(async () => expect((await control.jobs.get(project, jobId))?.state).toBe("succeeded"));
    const first = await feedback();
    const kind = jobKinds(service.services, () => undefined).find(({ name }) => name === "score-calls");
    const job = await control.jobs.get(project, jobId);
    const progress = { completed: 0, total: 2 };
    const claimed = { ...job, progress, lease_token: "none", cancel_requested: false };
    const { signal } = new AbortController();
    const nothing = () => undefined;
    const sharer = { key: "ann", entity: "acme" };
    const attempt = { sharer, signal, report: nothing, checkHeld: nothing, shouldYield: false, beginWork: nothing };
    await kind?.run(claimed as Parameters<typeof kind.run>[0], attempt);
    expect(first).toHaveLength(2);
    expect(await feedback()).toEqual(first);
  });

  test("need scorers of the project that the service can run", async () => {
    const id = await start({}, "x");
    const score = async (refs: string[]) =>
      await service.tracing().callsScore({ project_id: project, call_ids: [id], scorer_refs: refs });
    await expect(score([await model()])).rejects.toMatchObject({ status: 400 });
    await expect(score([`weave:///${project}/object/none:latest`])).rejects.toMatchObject({ status: 404 });
    await expect(score([(await exact()).replace(project, newProject())])).rejects.toMatchObject({ status: 400 });
    await expect(score([])).rejects.toMatchObject({ status: 422 });
  });
});
