import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { eventsOf, newModel } from "./jobs.js";
import type { TrainingClient } from "./jobs.js";

let service: TestService;
let client: TrainingClient;
beforeAll(async () => {
  service = await openTestService();
  client = service.training();
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

const calls = { filter: { op_names: ["chat"] }, sort_by: [{ field: "id", direction: "asc" as const }] };
const thumbs = { feedback_type: "wandb.reaction.1", path: "emoji" };
const quality = { feedback_type: "quality", path: "value" };
const kto = { objective: "kto" as const, batch_size: 2 };

/** Calls as an SDK records them, of any model, with what people think of them. */
async function recorded(answers: [question: string, answer: string, opinion: string | number | null][]) {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const tracing = service.tracing();
  for (const [at, [question, content, opinion]] of answers.entries()) {
    const id = `call${at}`;
    const inputs = { messages: [{ role: "user", content: question }] };
    const output = { choices: [{ finish_reason: "stop", index: 0, message: { role: "assistant", content } }] };
    const [startedAt, endedAt] = ["2026-04-10T09:00:00Z", "2026-04-10T09:00:01Z"];
    await tracing.callStart({
      start: {
        project_id: projectId,
        id,
        trace_id: id,
        op_name: "chat",
        started_at: startedAt,
        attributes: {},
        inputs,
      },
    });
    await tracing.callEnd({
      end: { project_id: projectId, id, ended_at: endedAt, summary: {}, output },
    });
    if (opinion === null) continue;
    await tracing.feedbackCreate({
      project_id: projectId,
      weave_ref: `weave:///${projectId}/call/${id}`,
      ...(typeof opinion === "string"
        ? { feedback_type: "wandb.reaction.1", payload: { emoji: opinion } }
        : { feedback_type: "quality", payload: { value: opinion } }),
    });
  }
  return { projectId, model_id: model.id, name: model.name, tracing };
}

test("thumbs up and down of any skin tone are ratings, and calls and job name each other", async () => {
  const { projectId, model_id, name, tracing } = await recorded([
    ["a?", "yes", "👍🏽"],
    ["b?", "no", "👎"],
    ["c?", "yes", "👍"],
    ["d?", "well", "🎉"],
    ["e?", "so", null],
  ]);
  const request = { model_id, calls, reward: thumbs, config: kto };
  const preview = await client.previewPreferenceTrainingJobFromCalls(request);
  expect(preview).toMatchObject({
    num_calls: 3,
    num_groups: null,
    groups: [
      {
        num_calls: 3,
        calls: [
          { id: "call0", reward: 1, skipped: null, tokens: expect.any(Number) },
          { id: "call1", reward: 0, skipped: null },
          { id: "call2", reward: 1, skipped: null },
        ],
      },
    ],
    skipped: [{ reason: "no_reward", count: 2, example: "call3" }],
    warnings: [],
    error_message: null,
  });
  const created = await client.createPreferenceTrainingJobFromCalls(request);
  expect(created).toMatchObject({
    job: { kind: "preference", call_ids: ["call0", "call1", "call2"] },
    num_calls: 3,
    num_groups: null,
    artifact: `heddle-artifact:///${projectId}/${name}-preferences:v0`,
  });
  const events = await eventsOf(service, created.job.id);
  expect(events[0]?.data).toMatchObject({ num_ratings: 3, num_desirable: 2, num_undesirable: 1 });
  expect(events.at(-1)?.type).toBe("training_ended");
  const query = { $expr: { $eq: [{ $getField: "feedback_type" }, { $literal: "heddle.training_job" }] } };
  const { result } = await tracing.feedbackQuery({ project_id: projectId, query });
  expect(result).toHaveLength(3);
  expect(result[0]).toMatchObject({ payload: { job_id: created.job.id, kind: "preference" } });
  // The same calls make the same data and the same job.
  expect((await client.createPreferenceTrainingJobFromCalls(request)).job.id).toBe(created.job.id);
}, 60_000);

test("calls with the same messages are pairs of a better and a worse answer", async () => {
  const { model_id } = await recorded([
    ["a?", "worst", 0],
    ["a?", "best", 1],
    ["a?", "middle", 0.5],
    ["b?", "fine", 0.6],
    ["b?", "finer", 0.7],
    ["c?", "same", 1],
    ["c?", "same", 0],
    ["d?", "alone", 1],
  ]);
  const request = { model_id, calls, reward: quality, min_margin: 0.2 };
  expect(await client.previewPreferenceTrainingJobFromCalls(request)).toMatchObject({
    num_calls: 4,
    num_groups: 2,
    groups: [
      {
        num_calls: 2,
        calls: [
          { id: "call1", reward: 1, skipped: null },
          { id: "call0", reward: 0, skipped: null },
        ],
      },
      {
        calls: [
          { id: "call5", skipped: "equal_answers", trained_tokens: 0 },
          { id: "call6", skipped: "equal_answers" },
        ],
      },
    ],
    skipped: [{ reason: "no_pair", count: 4, example: "call2" }],
  });
  const { job, num_groups } = await client.createPreferenceTrainingJobFromCalls(request);
  expect({ num_groups, ids: job.call_ids }).toEqual({ num_groups: 2, ids: ["call1", "call0", "call5", "call6"] });
  const [first] = await eventsOf(service, job.id);
  expect(first?.data).toMatchObject({ num_pairs: 1, num_dropped_equal_answers: 1 });
}, 60_000);

/** Says that the first call is better than the second. */
async function prefer({ projectId, tracing }: Awaited<ReturnType<typeof recorded>>, better: number, worse: number) {
  const ref = (at: number) => `weave:///${projectId}/call/call${at}`;
  const payload = { rejected: ref(worse) };
  const feedback = { project_id: projectId, weave_ref: ref(better), feedback_type: "heddle.preference", payload };
  await tracing.feedbackCreate(feedback);
}

test("feedback that prefers one call to another makes pairs, by majority", async () => {
  const created = await recorded([
    ["a?", "good", null],
    ["a?", "bad", null],
    ["b?", "disputed", null],
    ["b?", "as good", null],
    ["c?", "other question", null],
    ["a?", "worse", null],
    ["b?", "never compared", null],
  ]);
  await prefer(created, 0, 1);
  await prefer(created, 0, 5);
  await prefer(created, 1, 0);
  await prefer(created, 0, 1);
  await prefer(created, 2, 3);
  await prefer(created, 3, 2);
  await prefer(created, 4, 0);
  const { model_id } = created;
  const expected = {
    num_calls: 3,
    num_groups: 2,
    skipped: [
      { reason: "no_preference", count: 1, example: "call6" },
      { reason: "no_pair", count: 3, example: "call2" },
    ],
  };
  expect(await client.previewPreferenceTrainingJobFromCalls({ model_id, calls })).toMatchObject({
    ...expected,
    groups: [
      { num_calls: 2, calls: [{ id: "call0", reward: null, skipped: null }, { id: "call1" }] },
      { num_calls: 2, calls: [{ id: "call0" }, { id: "call5", skipped: null }] },
    ],
  });
  const { job, ...counts } = await client.createPreferenceTrainingJobFromCalls({ model_id, calls });
  expect(counts).toMatchObject(expected);
  expect(job.call_ids).toEqual(["call0", "call1", "call5"]);
  const [first] = await eventsOf(service, job.id);
  expect(first?.data).toMatchObject({ num_pairs: 2 });
  // The worse call need not be selected; twice as many have to agree.
  const chosen = { filter: { call_ids: ["call0"] } };
  expect(await client.previewPreferenceTrainingJobFromCalls({ model_id, calls: chosen })).toMatchObject({
    num_groups: 2,
  });
  const strict = { model_id, calls, min_margin: 2 };
  await expect(client.createPreferenceTrainingJobFromCalls(strict)).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining("none of the selected calls is preferred"),
  });
}, 60_000);

test("without preferences or a reward there is nothing to learn from, and the reason says which", async () => {
  const { model_id } = await recorded([["a?", "yes", "👍"]]);
  await expect(client.createPreferenceTrainingJobFromCalls({ model_id, calls })).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining("none of the selected calls is preferred"),
  });
  await expect(client.createPreferenceTrainingJobFromCalls({ model_id, calls, config: kto })).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining("reward: is needed with the objective kto"),
  });
}, 60_000);

test("a job that cannot be is refused with the reason, and a preview tells why it would fail", async () => {
  const { model_id } = await recorded([
    ["a?", "yes", "👍"],
    ["b?", "no", "👍"],
  ]);
  const request = { model_id, calls, reward: thumbs };
  await expect(client.createPreferenceTrainingJobFromCalls(request)).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining("no two of the 2 calls have the same messages"),
  });
  expect(await client.previewPreferenceTrainingJobFromCalls({ ...request, config: kto })).toMatchObject({
    num_calls: 2,
    error_message: expect.stringContaining("kto needs some of both kinds"),
  });
  await expect(client.createPreferenceTrainingJobFromCalls({ ...request, reward: quality })).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining("no_reward: 2"),
  });
  await expect(
    client.previewPreferenceTrainingJobFromCalls({ ...request, config: { ...kto, label_smoothing: 0.1 } }),
  ).rejects.toMatchObject({ status: 422 });
}, 60_000);
