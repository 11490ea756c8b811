import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { watchMostAtOnce } from "../most-at-once.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const digest = "YHEjUAIs6OriWOCtnYQAcO0aJ40WXrVYbu0Qa7HwLuw";

/** A project, and what is written to it through the operations. */
function tenant(projectId = newProject()) {
  const [entity = "", project = ""] = projectId.split("/");
  const path = { entity, project };
  const ref = (name: string) => `weave:///${projectId}/object/${name}:${digest}`;
  const tracing = service.tracing();
  return {
    projectId,
    path,
    ref,
    run: async (model = "model", more: object = {}) =>
      (await tracing.evaluationRunCreate({ ...path, evaluation: ref("exam"), model: ref(model), ...more }))
        .evaluation_run_id,
    predict: async (run: string | undefined, inputs: Record<string, unknown>, output: unknown, more: object = {}) =>
      (
        await tracing.predictionCreate({
          ...path,
          model: ref("model"),
          inputs,
          output,
          ...(run !== undefined && { evaluation_run_id: run }),
          ...more,
        })
      ).prediction_id,
    score: async (prediction: string, scorer: string, value: unknown, more: object = {}) =>
      (await tracing.scoreCreate({ ...path, prediction_id: prediction, scorer: ref(scorer), value, ...more })).score_id,
    finish: async (prediction: string) => tracing.predictionFinish({ ...path, prediction_id: prediction }),
    calls: async () => (await tracing.callsQuery({ project_id: projectId })).calls,
  };
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const status = (wanted: number, reason: RegExp) =>
  expect.objectContaining({ status: wanted, message: expect.stringMatching(reason) as string });

test("a run is recorded as the tree of calls that client libraries make", async () => {
  const { path, ref, projectId, ...write } = tenant();
  const tracing = service.tracing();
  const run = await write.run();
  const prediction = await write.predict(run, { question: "2+2?" }, "4");
  const score = await write.score(prediction, "exact", true);
  await write.finish(prediction);
  await tracing.evaluationRunFinish({ ...path, evaluation_run_id: run, summary: { note: "fine" } });

  const calls = await write.calls();
  const named = (name: string) => calls.find((call) => call.op_name.includes(`/op/${name}:`));
  const wrapper = named("Evaluation.predict_and_score");
  expect(named("Evaluation.evaluate")).toMatchObject({
    id: run,
    trace_id: run,
    parent_id: null,
    inputs: { self: ref("exam"), model: ref("model") },
    attributes: { weave: { evaluation_run: "true", evaluation: ref("exam"), model: ref("model") } },
    output: { exact: { mean: 1 } },
    summary: { note: "fine", weave: { status: "success" } },
  });
  expect(wrapper).toMatchObject({
    trace_id: run,
    parent_id: run,
    inputs: { self: ref("exam"), model: ref("model"), example: { question: "2+2?" } },
    attributes: { weave: { predict_call_id: prediction } },
    output: { output: "4", scores: { exact: true }, model_latency: { mean: 0 } },
  });
  expect(named("model.predict")).toMatchObject({
    id: prediction,
    parent_id: wrapper?.id,
    inputs: { self: ref("model"), inputs: { question: "2+2?" } },
    attributes: { weave: { prediction: "true", model: ref("model"), evaluation_run_id: run } },
    output: "4",
  });
  expect(named("exact.score")).toMatchObject({
    id: score,
    parent_id: wrapper?.id,
    inputs: { self: ref("exact"), inputs: { question: "2+2?" }, output: "4" },
    attributes: {
      weave: { score: "true", prediction_id: prediction, scorer: ref("exact"), evaluation_run_id: run },
    },
    output: true,
  });
  expect(named("Evaluation.summarize")).toMatchObject({ parent_id: run, output: { exact: { mean: 1 } } });
  expect(calls).toHaveLength(5);

  const { result } = await tracing.feedbackQuery({ project_id: projectId });
  expect(result).toMatchObject([
    {
      feedback_type: "wandb.runnable.exact",
      weave_ref: `weave:///${projectId}/call/${prediction}`,
      runnable_ref: ref("exact"),
      call_ref: `weave:///${projectId}/call/${score}`,
      payload: { output: true },
    },
  ]);
});

test("runs, predictions and scores are read and listed, in pages, the oldest first", async () => {
  const { path, ref, ...write } = tenant();
  const tracing = service.tracing();
  const [first, second] = [await write.run("a"), await write.run("b", { source_evaluation_run_id: "elsewhere" })];
  const predictions = [];
  for (const [run, n] of [
    [first, 1],
    [first, 2],
    [second, 3],
    [undefined, 4],
  ] as const) {
    predictions.push(await write.predict(run, { n }, n * 10));
  }
  const scores = [];
  for (const [index, prediction] of predictions.entries()) scores.push(await write.score(prediction, "s", index));
  await tracing.evaluationRunFinish({ ...path, evaluation_run_id: first });

  const ids = async (more: object) =>
    (await collect(tracing.evaluationRunList({ ...path, ...more }))).map(({ evaluation_run_id }) => evaluation_run_id);
  expect(await ids({})).toEqual([first, second]);
  expect(await ids({ limit: 1, offset: 1 })).toEqual([second]);
  expect(await ids({ models: [ref("b")] })).toEqual([second]);
  expect(await ids({ evaluations: [ref("exam")], evaluation_run_ids: [first, "missing"] })).toEqual([first]);
  expect(await ids({ evaluations: [ref("other")] })).toEqual([]);
  expect(await tracing.evaluationRunRead({ ...path, evaluation_run_id: first })).toEqual({
    evaluation_run_id: first,
    evaluation: ref("exam"),
    model: ref("a"),
    status: "completed",
    started_at: expect.any(String) as string,
    finished_at: expect.any(String) as string,
    summary: {},
    source_evaluation_run_id: null,
  });
  expect(await tracing.evaluationRunRead({ ...path, evaluation_run_id: second })).toMatchObject({
    status: "running",
    finished_at: null,
    source_evaluation_run_id: "elsewhere",
  });

  const predicted = async (more: object) =>
    (await collect(tracing.predictionList({ ...path, ...more }))).map(({ prediction_id }) => prediction_id);
  expect(await predicted({})).toEqual(predictions);
  expect(await predicted({ offset: 1, limit: 2 })).toEqual(predictions.slice(1, 3));
  expect(await predicted({ evaluation_run_id: first })).toEqual(predictions.slice(0, 2));
  expect(await predicted({ evaluation_run_id: "missing" })).toEqual([]);
  expect(await tracing.predictionRead({ ...path, prediction_id: predictions[2] ?? "" })).toMatchObject({
    model: ref("model"),
    inputs: { n: 3 },
    output: 30,
    evaluation_run_id: second,
  });
  expect(await tracing.predictionRead({ ...path, prediction_id: predictions[3] ?? "" })).toMatchObject({
    inputs: { n: 4 },
    evaluation_run_id: null,
  });

  const scored = async (more: object) =>
    (await collect(tracing.scoreList({ ...path, ...more }))).map(({ score_id }) => score_id);
  expect(await scored({})).toEqual(scores);
  expect(await scored({ evaluation_run_id: second })).toEqual(scores.slice(2, 3));
  expect(await tracing.scoreRead({ ...path, score_id: scores[3] ?? "" })).toMatchObject({
    scorer: ref("s"),
    value: 3,
    prediction_id: predictions[3],
    evaluation_run_id: null,
  });
});

test("finishing a run takes means of numbers and booleans, also inside of scores", async () => {
  const { path, ...write } = tenant();
  const tracing = service.tracing();
  const run = await write.run();
  const values: unknown[][] = [
    [true, 1, { good: true, length: 3, note: "short" }],
    [false, 2.5, { good: true, length: 4, note: "long" }],
    [null, "no number", null],
  ];
  for (const [n, [passed, points, detail]] of values.entries()) {
    const prediction = await write.predict(run, { n }, n + 1);
    await write.score(prediction, "passed", passed);
    await write.score(prediction, "points", points);
    await write.score(prediction, "detail", detail);
    await write.score(prediction, "mixed", [true, 0.5, false][n]);
    // The last prediction is left running.
    if (n < 2) await write.finish(prediction);
  }
  await tracing.evaluationRunFinish({ ...path, evaluation_run_id: run });
  const { call } = await tracing.callRead({ project_id: write.projectId, id: run });
  expect(call?.output).toEqual({
    output: { mean: 2 },
    passed: { mean: 0.5 },
    points: { mean: 1.75 },
    detail: { good: { mean: 1 }, length: { mean: 3.5 } },
    mixed: { mean: 0.5 },
  });
});

test("what is finished can be finished again, and keeps its time", async () => {
  const { path, ...write } = tenant();
  const tracing = service.tracing();
  const run = await write.run();
  const prediction = await write.predict(run, { n: 1 }, "x");
  await write.score(prediction, "points", 1);
  await write.finish(prediction);
  await tracing.evaluationRunFinish({ ...path, evaluation_run_id: run, summary: { round: 1 } });
  const before = await tracing.evaluationRunRead({ ...path, evaluation_run_id: run });

  await write.finish(prediction);
  // The last score of a scorer counts, and a finished prediction shows it at once.
  await write.score(prediction, "points", 3);
  const wrapper = (await write.calls()).find(({ op_name }) => op_name.includes("predict_and_score"));
  expect(wrapper?.output).toMatchObject({ output: "x", scores: { points: 3 } });
  await tracing.evaluationRunFinish({ ...path, evaluation_run_id: run });
  expect(await tracing.evaluationRunRead({ ...path, evaluation_run_id: run })).toEqual(before);
  const calls = await write.calls();
  expect(calls.find(({ id }) => id === run)?.output).toEqual({ points: { mean: 3 } });
  expect(calls.filter(({ op_name }) => op_name.includes("summarize"))).toHaveLength(1);
});

test("a request that is repeated with its retry id writes nothing twice", async () => {
  const { path, ref, ...write } = tenant();
  const tracing = service.tracing();
  const twice = async (send: (retry: { retryId: string }) => Promise<object>, retryId: string) => {
    const [first, again] = [await send({ retryId }), await send({ retryId })];
    expect(again).toEqual(first);
    return Object.values(first)[0] as string;
  };
  const run = await twice(
    (retry) => tracing.evaluationRunCreate({ ...path, evaluation: ref("e"), model: ref("m") }, retry),
    "1",
  );
  const prediction = await twice(
    (retry) =>
      tracing.predictionCreate(
        { ...path, model: ref("m"), inputs: { n: 1 }, output: 1, evaluation_run_id: run },
        retry,
      ),
    "2",
  );
  await twice(
    (retry) => tracing.scoreCreate({ ...path, prediction_id: prediction, scorer: ref("s"), value: 1 }, retry),
    "3",
  );
  expect(await write.calls()).toHaveLength(4);
  expect((await tracing.feedbackQuery({ project_id: write.projectId })).result).toHaveLength(1);
});

test("trials of many deleted scores are ended anew a few at a time", async () => {
  const { path, ...write } = tenant();
  const run = await write.run();
  const scores = await Promise.all(
    Array.from({ length: 12 }, async (_, index) => write.score(await write.predict(run, { index }, index), "s", 1)),
  );
  const watch = watchMostAtOnce(service.services.store.evaluations, "find");
  expect(await service.tracing().scoreDelete({ ...path, score_ids: scores })).toEqual({ num_deleted: 12 });
  expect(watch.stop()).toBe(8);
});

test("what is deleted takes along what is below it, and only what was there is counted", async () => {
  const { path, ...write } = tenant();
  const tracing = service.tracing();
  const run = await write.run();
  const [kept, removed] = [await write.predict(run, { n: 1 }, 1), await write.predict(run, { n: 2 }, 2)];
  const scores = [await write.score(kept, "a", 1), await write.score(kept, "b", 2), await write.score(removed, "a", 3)];
  await write.finish(kept);

  // Ids of other kinds are left alone.
  expect(await tracing.scoreDelete({ ...path, score_ids: [scores[1] ?? "", kept, run, "missing"] })).toEqual({
    num_deleted: 1,
  });
  const calls = await write.calls();
  expect(calls.find(({ id }) => id === kept)).toBeDefined();
  expect(calls.find(({ output }) => (output as { scores?: unknown } | null)?.scores !== undefined)).toMatchObject({
    output: { scores: { a: 1 } },
  });
  expect((await tracing.feedbackQuery({ project_id: write.projectId })).result).toHaveLength(2);

  expect(await tracing.predictionDelete({ ...path, prediction_ids: [removed, removed, run] })).toEqual({
    num_deleted: 1,
  });
  expect(await collect(tracing.scoreList({ ...path, evaluation_run_id: run }))).toHaveLength(1);
  await expect(tracing.predictionRead({ ...path, prediction_id: removed })).rejects.toEqual(
    status(404, /there is no prediction/),
  );

  expect(await tracing.evaluationRunDelete({ ...path, evaluation_run_ids: [run, "missing"] })).toEqual({
    num_deleted: 1,
  });
  expect(await tracing.evaluationRunDelete({ ...path, evaluation_run_ids: [run] })).toEqual({ num_deleted: 0 });
  expect(await write.calls()).toEqual([]);
});

describe("a request that cannot be is refused with the field that is wrong", () => {
  test("refs of other projects, of no version, or no refs", async () => {
    const { path, ref, ...write } = tenant();
    const tracing = service.tracing();
    const foreign = tenant(newProject("rival")).ref("exam");
    for (const bad of [
      foreign,
      "exam",
      "",
      `weave:///${write.projectId}/call/x`,
      `${ref("exam")}/attr/rows`,
      `weave:///${write.projectId}/object/exam:*`,
    ]) {
      const refused = bad === "" ? status(422, /evaluation/) : status(400, /evaluation: must be the ref of a version/);
      await expect(tracing.evaluationRunCreate({ ...path, evaluation: bad, model: ref("m") })).rejects.toEqual(refused);
    }
    await expect(
      tracing.evaluationRunCreate({ ...path, model: ref("m") } as unknown as Parameters<
        typeof tracing.evaluationRunCreate
      >[0]),
    ).rejects.toEqual(status(422, /evaluation/));
    const prediction = await write.predict(undefined, {}, 1);
    await expect(
      tracing.scoreCreate({ ...path, prediction_id: prediction, scorer: foreign, value: 1 }),
    ).rejects.toEqual(status(400, /scorer: must be the ref/));
  });

  test("runs, predictions and scores that do not exist, or that are something else", async () => {
    const { path, ...write } = tenant();
    const tracing = service.tracing();
    const run = await write.run();
    const prediction = await write.predict(run, {}, 1);
    const other = tenant();
    for (const id of ["missing", prediction]) {
      await expect(write.predict(id, {}, 1)).rejects.toEqual(
        status(404, /evaluation_run_id: there is no evaluation run/),
      );
      await expect(tracing.evaluationRunRead({ ...path, evaluation_run_id: id })).rejects.toEqual(
        status(404, /there is no/),
      );
      await expect(tracing.evaluationRunFinish({ ...path, evaluation_run_id: id })).rejects.toEqual(
        status(404, /there is no/),
      );
    }
    await expect(write.score(run, "s", 1)).rejects.toEqual(status(404, /prediction_id: there is no prediction/));
    await expect(tracing.predictionFinish({ ...path, prediction_id: run })).rejects.toEqual(status(404, /there is no/));
    await expect(tracing.scoreRead({ ...path, score_id: prediction })).rejects.toEqual(
      status(404, /there is no score/),
    );
    await expect(tracing.predictionRead({ ...other.path, prediction_id: prediction })).rejects.toEqual(
      status(404, /there is no/),
    );
    await expect(write.score(prediction, "s", 1, { evaluation_run_id: await write.run() })).rejects.toEqual(
      status(400, /evaluation_run_id: the prediction .* is not part of this run/),
    );
  });

  test("pages and lists that cannot be", async () => {
    const { path } = tenant();
    const tracing = service.tracing();
    const many = Array.from({ length: 1001 }, (_, index) => `id-${index}`);
    await expect(collect(tracing.evaluationRunList({ ...path, limit: -1 }))).rejects.toEqual(status(400, /limit/));
    await expect(collect(tracing.scoreList({ ...path, offset: -1 }))).rejects.toEqual(status(400, /offset/));
    await expect(collect(tracing.evaluationRunList({ ...path, evaluation_run_ids: many }))).rejects.toEqual(
      status(400, /evaluation_run_ids/),
    );
    await expect(tracing.scoreDelete({ ...path, score_ids: many })).rejects.toEqual(status(413, /score_ids/));
    await expect(tracing.scoreDelete({ ...path, score_ids: [] })).rejects.toEqual(status(422, /score_ids/));
  });
});

test("any value is a score, and comes back as it was sent", async () => {
  const { path, ...write } = tenant();
  const tracing = service.tracing();
  const prediction = await write.predict(await write.run(), { text: "\u0000 ' \ud83d\ude00" }, null);
  const huge = "9".repeat(400);
  const texts = ["1.0", "null", huge, '{"a":{"b":[1,2,{"c":"\\ud800"}]}}', '"text"', "[]", "-0.0", "NaN"];
  const ids = [];
  for (const value of texts) {
    const response = await service.fetch(`http://in-process/v2/${write.projectId}/scores`, {
      method: "POST",
      body: `{"prediction_id":"${prediction}","scorer":"${write.ref("s")}","value":${value}}`,
      headers: { authorization: `Bearer ${service.owner_key}` },
    });
    expect([value, response.status]).toEqual([value, 200]);
    ids.push(((await response.json()) as { score_id: string }).score_id);
  }
  for (const [index, id] of ids.entries()) {
    const response = await service.fetch(`http://in-process/v2/${write.projectId}/scores/${id}`, {
      headers: { authorization: `Bearer ${service.owner_key}` },
    });
    const wanted = texts[index] === "NaN" ? "null" : texts[index];
    expect(await response.text()).toContain(`"value":${wanted},`);
  }
  await write.finish(prediction);
  await expect(write.score(prediction, "s", "x".repeat(1_100_000))).rejects.toEqual(status(413, /value/));
  expect(await collect(tracing.scoreList({ ...path }))).toHaveLength(texts.length);
});
