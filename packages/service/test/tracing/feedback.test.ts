import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { Schemas } from "@heddle/server-stub/tracing";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected).toEqual([]));

const callRef = (projectId: string, id = "c") => `weave:///${projectId}/call/${id}`;

function note(projectId: string, more: object = {}) {
  const weaveRef = callRef(projectId);
  return {
    project_id: projectId,
    weave_ref: weaveRef,
    feedback_type: "wandb.note.1",
    payload: { note: "slow" },
    ...more,
  };
}

const listOf = async (projectId: string) => service.tracing().feedbackQuery({ project_id: projectId });

describe("giving feedback", () => {
  test("a reaction comes back with the names of its emoji", async () => {
    const projectId = newProject();
    const react = async (emoji: string) =>
      (
        await service
          .tracing()
          .feedbackCreate(note(projectId, { feedback_type: "wandb.reaction.1", payload: { emoji } }))
      ).payload;
    expect(await react("👍🏽")).toEqual({
      emoji: "👍🏽",
      alias: ":thumbs_up_medium_skin_tone:",
      detoned: "👍",
      detoned_alias: ":thumbs_up:",
    });
    const { result } = await listOf(projectId);
    expect(result).toMatchObject([{ payload: { alias: ":thumbs_up_medium_skin_tone:" } }]);
    for (const text of ["", "a", "👍👍", "👍 ", "thumbs", 5]) {
      await expect(react(text as string)).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining("body.payload.emoji: must be exactly one emoji") as string,
      });
    }
  });

  test("a preference names another call of the project", async () => {
    const projectId = newProject();
    const prefer = async (payload: object, weaveRef = callRef(projectId)) =>
      await service
        .tracing()
        .feedbackCreate(note(projectId, { weave_ref: weaveRef, feedback_type: "heddle.preference", payload }));
    const rejected = callRef(projectId, "worse");
    expect(await prefer({ rejected, reason: "short" })).toMatchObject({ payload: { rejected, reason: "short" } });
    const object = `weave:///${projectId}/object/o:v0`;
    for (const wrong of [
      {},
      { rejected: 5 },
      { rejected: "worse" },
      { rejected: callRef(projectId) },
      { rejected: object },
    ])
      await expect(prefer(wrong)).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining("body.payload.rejected") as string,
      });
    for (const foreign of [callRef(newProject(), "worse"), `${rejected}/attr/output`])
      await expect(prefer({ rejected: foreign })).rejects.toMatchObject({ status: 400 });
    await expect(prefer({ rejected }, object)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("body.weave_ref: must be the ref of a call") as string,
    });
  });

  test("a note has 1 to 1024 characters", async () => {
    const projectId = newProject();
    const write = (text: unknown) => service.tracing().feedbackCreate(note(projectId, { payload: { note: text } }));
    await write("😀".repeat(1024));
    for (const text of ["", "x".repeat(1025), 5, undefined]) {
      await expect(write(text)).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining("body.payload.note"),
      });
    }
  });

  test("the response has id, time and user, and a user that the request names is ignored", async () => {
    const projectId = newProject();
    const alice = await service.key({ user_name: "alice" });
    const sent = note(projectId, { wb_user_id: "somebody-else", creator: "Bob" });
    const created = await service.tracing(alice).feedbackCreate(sent);
    const { result, total_count } = await listOf(projectId);
    expect(total_count).toBe(1);
    expect(result).toMatchObject([{ ...created, creator: "Bob" }]);
    expect(created.wb_user_id).not.toBe("somebody-else");
  });

  test("the payload is kept as the text it was sent as", async () => {
    const projectId = newProject();
    const body = `{"project_id":"${projectId}","weave_ref":"${callRef(projectId)}","feedback_type":"mine","payload":{"b":1.0,"a":12345678901234567890123}}`;
    const headers = { "wandb-api-key": service.owner_key };
    const created = await service.fetch("http://in-process/feedback/create", { method: "POST", body, headers });
    expect(await created.text()).toContain('"payload":{"b":1.0,"a":12345678901234567890123}');
    const read = await service.fetch("http://in-process/feedback/query", {
      method: "POST",
      body: JSON.stringify({ project_id: projectId, fields: ["payload", "payload.b"] }),
      headers,
    });
    expect(await read.text()).toContain('{"payload":{"b":1.0,"a":12345678901234567890123},"payload.b":1.0}');
  });

  test("a request that is sent again under the same retry id is the same feedback", async () => {
    const projectId = newProject();
    const batch = [note(projectId), note(projectId)];
    const send = async () => (await service.tracing().feedbackCreateBatch({ batch }, { retryId: "r-1" })).res;
    expect(await send()).toEqual(await send());
    expect((await listOf(projectId)).total_count).toBe(2);
  });

  test("a queue of the project is kept with it, and no queue that was deleted or is of another project", async () => {
    const tracing = service.tracing();
    const [projectId, other] = [newProject(), newProject()];
    const queueOf = async (project: string) =>
      (await tracing.annotationQueueCreate({ project_id: project, name: "q", scorer_refs: [] })).id;
    const [own, deleted, foreign] = [await queueOf(projectId), await queueOf(projectId), await queueOf(other)];
    await tracing.annotationQueueDelete({ project_id: projectId, queue_id: deleted });
    await tracing.feedbackCreate(note(projectId, { queue_id: own }));
    for (const queueId of [deleted, foreign]) {
      await expect(tracing.feedbackCreate(note(projectId, { queue_id: queueId }))).rejects.toMatchObject({
        status: 400,
      });
    }
    expect((await listOf(projectId)).result).toMatchObject([{ queue_id: own }]);
  });

  test("a ref that names the project by its internal id is kept as the external one", async () => {
    const projectId = newProject();
    await service.services.control.projects.ensure("acme", projectId.slice("acme/".length));
    const [info] = await service.tracing().projectsInfo({ project_ids: [projectId] });
    const ref = `weave-trace-internal:///${info?.internal_project_id}/call/c`;
    await service.tracing().feedbackCreate(note(projectId, { weave_ref: ref }));
    expect((await listOf(projectId)).result).toMatchObject([{ weave_ref: callRef(projectId) }]);
  });
});

describe("what is refused, by name", () => {
  const annotation = (ref: string) => ({
    feedback_type: "wandb.annotation.quality",
    annotation_ref: ref,
    payload: { value: 3 },
  });
  const cases: Record<string, [change: (projectId: string) => object, field: string]> = {
    "a ref into another project": [() => ({ weave_ref: callRef("rival/p") }), "weave_ref"],
    "text that is not a ref": [() => ({ weave_ref: "call c" }), "weave_ref"],
    "an annotation without its specification": [
      () => ({ feedback_type: "wandb.annotation.quality", payload: { value: 1 } }),
      "annotation_ref",
    ],
    "an annotation by another specification": [
      (projectId) => annotation(`weave:///${projectId}/object/other:latest`),
      "annotation_ref",
    ],
    "an annotation by a specification of another project": [
      () => annotation("weave:///rival/p/object/quality:latest"),
      "annotation_ref",
    ],
    "an annotation without a name": [() => ({ feedback_type: "wandb.annotation." }), "feedback_type"],
    "a score without its scorer": [
      () => ({ feedback_type: "wandb.runnable.exactness", payload: { output: 1 } }),
      "runnable_ref",
    ],
    "a score of another scorer": [
      (projectId) => ({
        feedback_type: "wandb.runnable.exactness",
        runnable_ref: `weave:///${projectId}/object/other:v0`,
        payload: { output: 1 },
      }),
      "runnable_ref",
    ],
    "the score of an op without its call": [
      (projectId) => ({
        feedback_type: "wandb.runnable.exactness",
        runnable_ref: `weave:///${projectId}/op/exactness:v0`,
        payload: { output: 1 },
      }),
      "call_ref",
    ],
    "a score without output": [
      (projectId) => ({
        feedback_type: "wandb.runnable.exactness",
        runnable_ref: `weave:///${projectId}/object/exactness:v0`,
        payload: {},
      }),
      "payload.output",
    ],
    "a ref that the type does not have": [
      (projectId) => ({ trigger_ref: `weave:///${projectId}/object/m:v0` }),
      "trigger_ref",
    ],
    "a queue that does not exist": [() => ({ queue_id: "0199d3a4-5c00-7e21-8b44-1f6a9c3d2e78" }), "queue_id"],
    "too large a payload": [() => ({ feedback_type: "mine", payload: { text: "x".repeat(1024 * 1024) } }), "payload"],
  };

  test.each(Object.entries(cases))("%s", async (_, [change, field]) => {
    const projectId = newProject();
    const tracing = service.tracing();
    const wrong = note(projectId, change(projectId));
    const status = field === "payload" ? 413 : 400;
    await expect(tracing.feedbackCreate(wrong)).rejects.toMatchObject({
      status,
      message: expect.stringContaining(`body.${field}: `) as string,
    });
    await expect(tracing.feedbackReplace({ ...wrong, feedback_id: "f" })).rejects.toMatchObject({ status });
    await expect(tracing.feedbackCreateBatch({ batch: [note(projectId), wrong] })).rejects.toMatchObject({
      status,
      message: expect.stringContaining(`body.batch.1.${field}: `) as string,
    });
    expect((await listOf(projectId)).total_count).toBe(0);
  });

  test("an id that occurs twice in a batch, or is taken", async () => {
    const projectId = newProject();
    const tracing = service.tracing();
    const id = "0199d3a6-0b20-7d52-8c11-5e9f3a7b2c40";
    const batch = [note(projectId, { id }), note(projectId, { id, payload: { note: "other" } })];
    await expect(tracing.feedbackCreateBatch({ batch })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("body.batch.1.id: ") as string,
    });
    await tracing.feedbackCreate(note(projectId, { id }));
    await expect(tracing.feedbackCreateBatch({ batch: batch.slice(1) })).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining("body.batch.0.id: ") as string,
    });
    expect((await listOf(projectId)).total_count).toBe(1);
  });

  test("more than 1000 at once", async () => {
    const projectId = newProject();
    const batch = Array.from({ length: 10_000 }, () => note(projectId));
    await expect(service.tracing().feedbackCreateBatch({ batch })).rejects.toMatchObject({ status: 413 });
    await service.tracing().feedbackCreateBatch({ batch: batch.slice(0, 1000) });
    expect((await listOf(projectId)).total_count).toBe(1000);
  });

  test("a batch with feedback in a project of somebody else", async () => {
    const projectId = newProject();
    const rival = newProject("rival");
    const key = await service.key({ role: "write" });
    const batch = [note(projectId), note(rival)];
    await expect(service.tracing(key).feedbackCreateBatch({ batch })).rejects.toMatchObject({ status: 403 });
    expect([(await listOf(projectId)).total_count, (await listOf(rival)).total_count]).toEqual([0, 0]);
    await expect(service.tracing(key).feedbackCreate(note(rival))).rejects.toMatchObject({ status: 403 });
  });

  test("a purge by anything but ids", async () => {
    const projectId = newProject();
    await service.tracing().feedbackCreate(note(projectId));
    const query: Schemas["Query"] = { $expr: { $gt: [{ $getField: "id" }, { $literal: "" }] } };
    await expect(service.tracing().feedbackPurge({ project_id: projectId, query })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("body.query: ") as string,
    });
    expect((await listOf(projectId)).total_count).toBe(1);
  });
});

describe("annotations", () => {
  const projectId = newProject();
  const specification = async (fieldSchema: unknown, name = "quality") => {
    const val = {
      _type: "AnnotationSpec",
      name,
      field_schema: fieldSchema,
      _class_name: "AnnotationSpec",
      _bases: ["Object", "BaseModel"],
    };
    const { digest } = await service.tracing().objCreate({ obj: { project_id: projectId, object_id: name, val } });
    return digest;
  };
  const annotate = (value: unknown, version: string, name = "quality") =>
    service.tracing().feedbackCreate(
      note(projectId, {
        feedback_type: `wandb.annotation.${name}`,
        annotation_ref: `weave:///${projectId}/object/${name}:${version}`,
        payload: { value },
      }),
    );

  test("the value fits the field_schema of its specification", async () => {
    const digest = await specification({ type: "integer", minimum: 1, maximum: 5 });
    await annotate(4, digest);
    await annotate(4, "latest");
    for (const value of [0, "4", 4.5, null, {}]) {
      await expect(annotate(value, digest)).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining("body.payload.value: ") as string,
      });
    }
    const enumerated = await specification({ $ref: "#/$defs/word", $defs: { word: { enum: ["good", "bad"] } } });
    await annotate("good", enumerated);
    await expect(annotate("ugly", enumerated)).rejects.toMatchObject({ status: 400 });
  });

  test("a specification has to exist, and to be one", async () => {
    await expect(annotate(1, "v99")).rejects.toMatchObject({
      status: 404,
      message: expect.stringContaining("body.annotation_ref: ") as string,
    });
    await service
      .tracing()
      .objCreate({ obj: { project_id: projectId, object_id: "plain", val: { field_schema: {} } } });
    await expect(annotate(1, "latest", "plain")).rejects.toMatchObject({ status: 400 });
    const digest = await specification({ type: "string" }, "deleted");
    await service.tracing().objDelete({ project_id: projectId, object_id: "deleted", digests: [digest] });
    await expect(annotate("x", digest, "deleted")).rejects.toMatchObject({
      status: 404,
      body: { deleted_at: expect.any(String) as string },
    });
  });

  test.each<[string, unknown, unknown]>([
    ["a pattern that backtracks without end", { type: "string", pattern: "^(a+)+$" }, `${"a".repeat(60)}!`],
    [
      "alternatives that multiply",
      {
        $ref: "#/$defs/d0",
        $defs: Object.fromEntries(
          Array.from({ length: 40 }, (_, n) => [
            `d${n}`,
            { allOf: n === 39 ? [{ type: "number" }] : [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
          ]),
        ),
      },
      1,
    ],
    ["a schema that is itself", { $ref: "#" }, 1],
    ["a schema of another server", { $ref: "https://example.com/schema.json" }, 1],
    ["a pattern that is none", { type: "string", pattern: "(" }, "x"],
    ["no object", "string", "x"],
    ["a schema of a megabyte", { enum: ["x", "y".repeat(1_000_000)] }, "x"],
  ])("%s is refused in time", async (_, fieldSchema, value) => {
    const digest = await specification(fieldSchema, "hostile");
    await expect(annotate(value, digest, "hostile")).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("body.payload.value: ") as string,
    });
  });
});

describe("feedback on calls", () => {
  test("is shown with them, filters and sorts them, and is out of sight when they are deleted", async () => {
    const projectId = newProject();
    const tracing = service.tracing();
    const ids = ["a", "b", "c"];
    for (const id of ids) {
      const start = { project_id: projectId, id, trace_id: id, op_name: "op", started_at: 1_775_811_600 };
      await tracing.callStart({ start: { ...start, attributes: {}, inputs: {} } });
    }
    await tracing.feedbackCreateBatch({
      batch: [
        note(projectId, { weave_ref: callRef(projectId, "a"), payload: { note: "good" } }),
        note(projectId, { weave_ref: callRef(projectId, "a"), payload: { note: "slow" } }),
        note(projectId, { weave_ref: callRef(projectId, "b"), feedback_type: "score", payload: { value: 2 } }),
      ],
    });
    const { calls } = await tracing.callsQuery({ project_id: projectId, include_feedback: true });
    const payloads = calls.map(({ id, summary }) => [id, summary?.weave?.feedback?.map(({ payload }) => payload)]);
    expect(Object.fromEntries(payloads)).toEqual({ a: [{ note: "good" }, { note: "slow" }], b: [{ value: 2 }], c: [] });
    expect((await tracing.callRead({ project_id: projectId, id: "b", include_feedback: true })).call).toMatchObject({
      summary: { weave: { feedback: [{ feedback_type: "score", weave_ref: callRef(projectId, "b") }] } },
    });
    const slow: Schemas["Query"] = {
      $expr: { $eq: [{ $getField: "feedback.[wandb.note.1].payload.note" }, { $literal: "slow" }] },
    };
    const matching = async () =>
      (await tracing.callsQuery({ project_id: projectId, query: slow })).calls.map(({ id }) => id);
    expect(await matching()).toEqual(["a"]);
    const sorted = await tracing.callsQuery({
      project_id: projectId,
      sort_by: [{ field: "feedback.[score].payload.value", direction: "asc" }],
    });
    expect(sorted.calls[0]?.id).toBe("b");
    await tracing.callsDelete({ project_id: projectId, call_ids: ["a"] });
    expect(await matching()).toEqual([]);
    expect((await listOf(projectId)).total_count).toBe(3);
  });
});

test("numbers over time, and tags and ratings of scorers", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  await tracing.feedbackCreateBatch({
    batch: [1, 3].map((score) =>
      note(projectId, {
        feedback_type: "wandb.runnable.tone",
        runnable_ref: `weave:///${projectId}/object/tone:v0`,
        payload: { output: { score } },
        scorer_tags: ["polite"],
        scorer_ratings: { tone: score },
      }),
    ),
  });
  const now = Date.now();
  const range = { project_id: projectId, start: now / 1000 - 60, end: now / 1000 + 60 };
  const stats = await tracing.feedbackStats({ ...range, metrics: [{ json_path: "output.score" }] });
  expect(stats.window_stats).toEqual({ output_score: { avg: 2, min: 1, max: 3 } });
  expect(await tracing.feedbackPayloadSchema(range)).toEqual({
    paths: [{ json_path: "output.score", value_type: "numeric" }],
  });
  const { buckets } = await tracing.feedbackAggregate({
    project_id: projectId,
    after_ms: now - 60_000,
    before_ms: now + 60_000,
    time_bucket_seconds: 3600 * 24,
    group_by: ["scorer_id"],
  });
  expect(buckets.map(({ group, tag_counts, rating_sums }) => ({ group, tag_counts, rating_sums }))).toEqual([
    { group: { scorer_id: "tone" }, tag_counts: { polite: 2 }, rating_sums: { tone: 4 } },
  ]);
  await expect(tracing.feedbackAggregate({ project_id: projectId, after_ms: 5, before_ms: 5 })).rejects.toMatchObject({
    status: 400,
  });
});
