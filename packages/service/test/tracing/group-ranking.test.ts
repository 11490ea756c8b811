import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { createRl, eventsOf, newModel } from "../training/jobs.js";
import { choice, trajectory } from "../training/trajectories.js";
import { json, startUpstream, writeProviders } from "../upstream.js";

interface Shown {
  context: object[];
  answers: { id: string; messages: { content?: string; output?: string }[] }[];
}
/** What the judge returns for what it is shown. */
let judge: (shown: Shown) => unknown;
let upstream: Awaited<ReturnType<typeof startUpstream>>;
let directory: string;
let service: TestService;
let project: string;

const questionOf = (body: string): Shown => {
  const { messages } = JSON.parse(body) as { messages: { content: string }[] };
  const line = messages
    .at(-1)
    ?.content.split("\n")
    .find((text) => text.startsWith("{"));
  return JSON.parse(line ?? "null") as Shown;
};

beforeAll(async () => {
  upstream = await startUpstream({
    "POST /v1/chat/completions": (response, { body }) => {
      const answer = judge(questionOf(body));
      const content = typeof answer === "string" ? answer : JSON.stringify(answer);
      json(response, { choices: [{ index: 0, message: { role: "assistant", content } }] });
    },
  });
  directory = mkdtempSync(join(tmpdir(), "heddle-ranking-"));
  const acme = { baseUrl: `${upstream.url}/v1`, allowPrivate: true, kinds: ["chat-completions"], apiKey: "sk-secret" };
  service = await openTestService({ HEDDLE_PROVIDERS: writeProviders(directory, { acme }) });
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
  await upstream.close();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(() => {
  project = newProject();
  upstream.received.length = 0;
  judge = byLength;
});

/** The longest answer is best. */
const byLength = ({ answers }: Shown) => {
  const length = (one: Shown["answers"][number]) => one.messages.at(-1)?.content?.length ?? 0;
  const longest = Math.max(...answers.map(length));
  return { scores: answers.map((one) => ({ id: one.id, explanation: "length", score: length(one) / longest })) };
};

const val = { model: { llm_model_id: "acme/loom-8b", default_params: {} } };

async function ranking(more: object = {}): Promise<string> {
  const obj = { project_id: project, object_id: "best", val: { ...val, ...more } };
  const { digest } = await service.tracing().objCreate({ obj: { ...obj, builtin_object_class: "GroupRankingScorer" } });
  return `weave:///${project}/object/best:${digest}`;
}

async function recorded(
  question: string,
  answer: string,
  more: { exception?: string; attributes?: Record<string, unknown> } = {},
) {
  const { exception, attributes = {} } = more;
  const id = randomUUID();
  const at = new Date().toISOString();
  const inputs = { messages: [{ role: "user", content: question }] };
  const logprob = { token: "token_id:5", logprob: -0.5, bytes: null, top_logprobs: [] };
  const choice = { index: 0, finish_reason: "stop", message: { role: "assistant", content: answer } };
  const output = { choices: [{ ...choice, logprobs: { content: [logprob] } }] };
  const base = { project_id: project, id, trace_id: id, op_name: "chat", started_at: at, attributes, inputs };
  await service.tracing().callStart({ start: base });
  await service.tracing().callEnd({ end: { project_id: project, id, ended_at: at, output, summary: {}, exception } });
  return id;
}

/** Applies the ranking, and returns what each call got. */
async function rank(ids: string[], refs: string[], count = ids.length) {
  await service.tracing().callsScore({ project_id: project, call_ids: ids, scorer_refs: refs });
  return await vi.waitFor(
    async () => {
      const { result } = await service.tracing().feedbackQuery({ project_id: project });
      expect(result).toHaveLength(count);
      const all = result as unknown as { weave_ref: string; payload: { output: unknown; error?: string } }[];
      return ids.map((id) => all.find(({ weave_ref }) => weave_ref.endsWith(id))?.payload);
    },
    { timeout: 20_000 },
  );
}

test("each group is one request, and its scores are rewards of training jobs", async () => {
  const ids = [await recorded("a?", "yes"), await recorded("a?", "yes, of course"), await recorded("b?", "no")];
  const second = await recorded("b?", "not");
  expect(await rank([...ids, second], [await ranking()])).toEqual([
    { output: { score: 3 / 14, explanation: "length", group_size: 2 } },
    { output: { score: 1, explanation: "length", group_size: 2 } },
    { output: { score: 2 / 3, explanation: "length", group_size: 2 } },
    { output: { score: 1, explanation: "length", group_size: 2 } },
  ]);
  expect(upstream.received).toHaveLength(2);
  expect(questionOf(upstream.received[0]?.body ?? "").context).toHaveLength(1);
  const training = service.training();
  const model = await newModel(training, project);
  const preview = await training.previewRlTrainingJobFromCalls({
    model_id: model.id,
    calls: { filter: { op_names: ["chat"] }, sort_by: [{ field: "started_at", direction: "asc" }] },
    reward: { feedback_type: "wandb.runnable.best", path: "output.score" },
  });
  expect(preview.groups.map(({ calls }) => calls.map(({ reward }) => reward))).toEqual([
    [3 / 14, 1],
    [2 / 3, 1],
  ]);
});

test("calls without anything to compare them with cost no request and say why", async () => {
  const alone = await recorded("a?", "yes");
  const failed = await recorded("b?", "", { exception: "broke" });
  const other = await recorded("b?", "no");
  expect(await rank([alone, failed, other], [await ranking()])).toEqual([
    { output: null, error: expect.stringContaining("alone in its group") },
    { output: null, error: expect.stringContaining("the call failed") },
    { output: null, error: expect.stringContaining("alone in its group") },
  ]);
  expect(upstream.received).toEqual([]);
});

test("a group of more than 32 is not compared", async () => {
  const ids = await Promise.all(Array.from({ length: 33 }, async (_, at) => await recorded("a?", `${at}`)));
  const all = await rank(ids, [await ranking()]);
  expect(new Set(all.map((payload) => payload?.error))).toEqual(
    new Set(["the group has 33 calls; at most 32 can be compared"]),
  );
  expect(upstream.received).toEqual([]);
});

test.each([
  ["prose", () => "All of them are fine.", /the model was asked for JSON/],
  ["too few scores", (shown: Shown) => ({ scores: byLength(shown).scores.slice(1) }), /has scores of 1 of 2 answers/],
  [
    "scores out of range",
    (shown: Shown) => ({ scores: byLength(shown).scores.map((one) => ({ ...one, score: 7 })) }),
    /0 to 1/,
  ],
])("a judge that returns %s gives no score, and the reason to all of the group", async (_, answer, message) => {
  judge = answer;
  const ids = [await recorded("a?", "one"), await recorded("a?", "three")];
  const expected = { output: null, error: expect.stringMatching(message) };
  expect(await rank(ids, [await ranking()])).toEqual([expected, expected]);
});

test("group_by compares calls with different messages", async () => {
  const attributes = { task: 7 };
  const ids = [await recorded("a?", "yes", { attributes }), await recorded("b?", "no", { attributes })];
  const all = await rank(ids, [await ranking({ group_by: "attributes.task" })]);
  expect(all).toMatchObject([{ output: { score: 1, group_size: 2 } }, { output: { group_size: 2 } }]);
  expect(questionOf(upstream.received[0]?.body ?? "").context).toEqual([]);
});

test("a call without a value at group_by has no score", async () => {
  const ids = [await recorded("a?", "yes"), await recorded("a?", "no")];
  const expected = { output: null, error: expect.stringContaining("no value at attributes.task") };
  expect(await rank(ids, [await ranking({ group_by: "attributes.task" })])).toEqual([expected, expected]);
});

test("parameters that cannot be used are refused by name, and evaluations refuse the class", async () => {
  await expect(ranking({ group_by: "payload.x" })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("group_by: begins with inputs"),
  });
  await expect(ranking({ rubrik: "?" })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("rubrik"),
  });
  const ref = await ranking();
  const rows = (await service.tracing().tableCreate({ table: { project_id: project, rows: [{ a: 1 }] } })).digest;
  const stored = async (objectId: string, value: object) => {
    const { digest } = await service
      .tracing()
      .objCreate({ obj: { project_id: project, object_id: objectId, val: value } });
    return `weave:///${project}/object/${objectId}:${digest}`;
  };
  const dataset = await stored("rows", { _class_name: "Dataset", rows: `weave:///${project}/table/${rows}` });
  const evaluation = await stored("eval", { _class_name: "Evaluation", dataset, scorers: [ref] });
  await expect(
    service.tracing().evaluateModel({ project_id: project, evaluation_ref: evaluation, model_ref: ref }),
  ).rejects.toMatchObject({ status: 400, message: expect.stringContaining("ranks the calls of a group") });
});

/** An RL job on these answers; those of a list are a group. */
async function rankedJob(answers: string[][], settings: object, judged = project) {
  const training = service.training();
  const model = await newModel(training, judged);
  const groups = answers.map((texts, at) => ({
    trajectories: texts.map((text) => trajectory(5, choice(text), `question ${at}?`)),
  }));
  return await createRl(training, {
    model_id: model.id,
    trajectory_groups: groups,
    experimental_config: settings,
  });
}

test("an RL job trains on the ranks of the trajectories that were submitted, and keeps their own rewards", async () => {
  const { id } = await rankedJob([["yes", "no"], ["alone"], ["a", "abc"]], { ranking: await ranking() });
  const events = await eventsOf(service, id);
  expect(events.at(-1)).toMatchObject({ type: "training_ended" });
  const rollouts = [];
  for await (const each of service.training().listTrainingJobRollouts({ training_job_id: id })) rollouts.push(each);
  expect(rollouts.map(({ reward, advantage }) => [Number(reward.toFixed(2)), Math.sign(advantage)])).toEqual([
    [1, 1],
    [0.67, -1],
    [5, 0],
    [0.33, -1],
    [1, 1],
  ]);
  expect(rollouts.map(({ metrics }) => metrics?.["independent_reward"])).toEqual([5, 5, undefined, 5, 5]);
  // What a model is shown is the conversation, the same as of recorded calls.
  expect(upstream.received).toHaveLength(2);
  const shown = upstream.received.map(({ body }) => questionOf(body));
  expect(shown.map(({ context }) => context)).toContainEqual([{ role: "user", content: "question 0?" }]);
  const answers = shown.flatMap((one) => one.answers.map(({ messages }) => messages[0]?.content));
  expect(new Set(answers)).toEqual(new Set(["yes", "no", "a", "abc"]));
});

test("a job whose judge returns no ranking ends with the group and the reason, after three questions", async () => {
  judge = () => "All of them are fine.";
  const { id } = await rankedJob([["yes", "no"]], { ranking: await ranking() });
  const events = await eventsOf(service, id);
  expect(events.at(-1)).toMatchObject({
    type: "training_failed",
    data: {
      error_message: expect.stringMatching(/^trajectory_groups\.0 cannot be ranked: .*the model was asked for JSON/),
    },
  });
  expect(upstream.received).toHaveLength(3);
});

test("a group of more than 32 trajectories ends a job that ranks", async () => {
  const answers = Array.from({ length: 33 }, (_, at) => `answer ${at}`);
  const { id } = await rankedJob([answers], { ranking: await ranking() });
  const events = await eventsOf(service, id);
  expect(JSON.stringify(events.at(-1))).toContain("it has 33 trajectories; at most 32 can be compared");
});

test("a job refuses a ranking that is none, does not exist, or is of another project", async () => {
  const own = await ranking();
  const obj = { project_id: project, object_id: "same", val: {}, builtin_object_class: "ExactMatchScorer" };
  const { digest } = await service.tracing().objCreate({ obj });
  const loc = ["body", "experimental_config", "ranking"];
  const refused = async (ref: unknown, judged?: string) =>
    await rankedJob([["yes", "no"]], { ranking: ref }, judged).then(
      () => undefined,
      (error: unknown) => error,
    );
  expect(await refused(`weave:///${project}/object/same:${digest}`)).toMatchObject({
    status: 422,
    body: { detail: [{ loc, msg: expect.stringContaining("scores one answer at a time") }] },
  });
  expect(await refused(own, newProject())).toMatchObject({ status: 422, body: { detail: [{ loc }] } });
  expect(await refused(own.replace(/:[^:]+$/, ":missing"))).toMatchObject({ status: 404 });
  expect(await refused("best")).toMatchObject({ status: 422, body: { detail: [{ loc }] } });
  expect(await refused(7)).toMatchObject({ status: 422 });
});
