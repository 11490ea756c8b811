import { randomUUID } from "node:crypto";
import { newId } from "@heddle/trace-model";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../test/store.js";
import { completePart, newProject } from "../../test/call-parts.js";
import { unreliableEngine } from "../../test/unreliable-engine.js";
import type { TraceStore } from "../store.js";
import type { NewFeedback } from "./requests.js";

const db = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await db.open();
});
afterAll(() => db.drop());

const refOf = (projectId: string, callId: string) => `weave:///${projectId}/call/${callId}`;

function quality(projectId: string, more: Partial<NewFeedback> = {}): NewFeedback {
  return {
    project_id: projectId,
    weave_ref: refOf(projectId, "c"),
    feedback_type: "quality",
    payload: '{"score":1.0}',
    wb_user_id: "ann",
    ...more,
  };
}

const rowsOf = async (projectId: string, more: object = {}) => {
  const { result, total_count } = await store.feedback.query({ project_id: projectId, ...more });
  return { rows: result.map((text) => JSON.parse(text) as Record<string, unknown>), total_count };
};

describe("writing", () => {
  test("feedback comes back as it was sent, with all its columns", async () => {
    const projectId = newProject();
    const created = await store.feedback.create(
      quality(projectId, {
        payload: '{"score":1.0,"big":12345678901234567890123,"s":"\\ud800"}',
        creator: "Zoë\t'\\",
        scorer_tags: ["good", "it's"],
        scorer_ratings: { tone: 0.5 },
        span_agent_name: "agent",
      }),
    );
    const { result, total_count } = await store.feedback.query({ project_id: projectId });
    expect(total_count).toBe(1);
    expect(result[0]).toContain('"payload":{"score":1.0,"big":12345678901234567890123,"s":"\\ud800"}');
    expect(JSON.parse(result[0] ?? "")).toMatchObject({
      id: created.id,
      project_id: projectId,
      weave_ref: refOf(projectId, "c"),
      wb_user_id: "ann",
      creator: "Zoë\t'\\",
      feedback_type: "quality",
      annotation_ref: null,
      queue_id: null,
      scorer_tags: ["good", "it's"],
      scorer_ratings: { tone: 0.5 },
      scorer_rating_reasons: {},
      span_agent_name: "agent",
      span_trace_id: "",
    });
  });

  test("the same feedback under the same id is there once, with its first time and user", async () => {
    const projectId = newProject();
    const sent = quality(projectId, { id: newId(), payload: '{"score":1.0,"x":12345678901234567890123}' });
    const first = await store.feedback.create(sent);
    const [again, atOnce] = await Promise.all([
      store.feedback.create({ ...sent, wb_user_id: "bob" }),
      store.feedback.createBatch([sent]),
    ]);
    expect([again, ...atOnce]).toEqual([first, first]);
    expect((await rowsOf(projectId)).total_count).toBe(1);
  });

  test("other feedback under an id that is taken is refused, and nothing of its batch is stored", async () => {
    const projectId = newProject();
    const id = newId();
    await store.feedback.create(quality(projectId, { id }));
    const other = quality(projectId, { id, weave_ref: refOf(projectId, "other") });
    await expect(store.feedback.create(other)).rejects.toMatchObject({ code: "conflict", loc: ["id"] });
    await expect(store.feedback.createBatch([quality(projectId), other])).rejects.toMatchObject({
      code: "conflict",
      loc: [1, "id"],
    });
    const twice = quality(projectId, { id: newId() });
    await expect(store.feedback.createBatch([twice, twice])).rejects.toMatchObject({ code: "invalid", loc: [1, "id"] });
    expect((await rowsOf(projectId)).total_count).toBe(1);
    expect((await store.feedback.create(quality(newProject(), { id }))).id).toBe(id);
  });

  test("many writers at once each get their own", async () => {
    const projectId = newProject();
    const created = await Promise.all(Array.from({ length: 50 }, () => store.feedback.create(quality(projectId))));
    const { rows } = await rowsOf(projectId, { fields: ["id"] });
    expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(created.map(({ id }) => id)));
    expect(rows).toHaveLength(50);
  });

  test("purged feedback is gone, and its id is free again", async () => {
    const projectId = newProject();
    const [kept, gone] = [
      await store.feedback.create(quality(projectId)),
      await store.feedback.create(quality(projectId)),
    ];
    const isId = (id: string) => ({ $eq: [{ $getField: "id" }, { $literal: id }] });
    await store.feedback.purge({ project_id: projectId, query: { $expr: { $or: [isId(gone.id), isId("unknown")] } } });
    expect((await rowsOf(projectId, { fields: ["id"] })).rows).toEqual([{ id: kept.id }]);
    await store.feedback.purge({ project_id: newProject(), query: { $expr: isId(kept.id) } });
    expect((await rowsOf(projectId)).total_count).toBe(1);
    await store.feedback.create(quality(projectId, { id: gone.id, payload: "{}" }));
    expect((await rowsOf(projectId)).total_count).toBe(2);
  });

  test("what replaces feedback takes its place, under its own id or that of the old one", async () => {
    const projectId = newProject();
    const first = await store.feedback.create(quality(projectId));
    const second = await store.feedback.replace({
      ...quality(projectId, { payload: '{"n":2}' }),
      feedback_id: first.id,
    });
    expect(second.id).not.toBe(first.id);
    for (const ref of ["c", "elsewhere"]) {
      const changed = quality(projectId, { id: second.id, weave_ref: refOf(projectId, ref), payload: '{"n":3}' });
      expect(await store.feedback.replace({ ...changed, feedback_id: second.id })).toMatchObject({ id: second.id });
      const fields = ["id", "weave_ref", "payload.n"];
      expect((await rowsOf(projectId, { fields })).rows).toEqual([
        { id: second.id, weave_ref: refOf(projectId, ref), "payload.n": 3 },
      ]);
    }
    // As a client does that got no response.
    const third = { ...quality(projectId, { id: newId() }), feedback_id: second.id };
    expect(await store.feedback.replace(third)).toEqual(await store.feedback.replace(third));
    expect((await rowsOf(projectId)).total_count).toBe(1);
  });

  test("an insert that fails is an error of its writers, and the next write works", async () => {
    const engine = unreliableEngine();
    const faulty = await db.open({ wrapEngine: engine.wrap });
    const projectId = newProject();
    for (const applied of [false, true]) {
      engine.breakNext("feedback", applied);
      const sent = quality(projectId, { id: newId() });
      await expect(faulty.feedback.create(sent)).rejects.toThrow();
      // Whether it was stored or not, sending it again stores it once.
      await faulty.feedback.create(sent);
    }
    expect((await rowsOf(projectId)).total_count).toBe(2);
  });
});

describe("querying", () => {
  const projectId = newProject();
  beforeAll(async () => {
    const scores = [3, 1, "two", undefined];
    await store.feedback.createBatch(
      scores.map((score, index) =>
        quality(projectId, {
          id: `f${index}`,
          weave_ref: index === 3 ? `weave:///${projectId}/object/o:abc` : refOf(projectId, `c${index}`),
          payload: JSON.stringify({ score, index, "a.b": { deep: [index] } }),
          creator: index === 0 ? "ann" : undefined,
        }),
      ),
    );
  });
  const ids = async (more: object) => (await rowsOf(projectId, { fields: ["id"], ...more })).rows.map(({ id }) => id);
  const where = (op: string, field: string, value: unknown) => ({
    query: { $expr: { [op]: [{ $getField: field }, { $literal: value }] } },
  });

  test("by columns and paths into the payload", async () => {
    expect(await ids(where("$gt", "payload.score", 0))).toEqual(["f0", "f1"]);
    expect(await ids(where("$eq", "payload.score", "two"))).toEqual(["f2"]);
    expect(await ids(where("$eq", "weave_ref", refOf(projectId, "c1")))).toEqual(["f1"]);
    expect(await ids(where("$eq", "creator", null))).toEqual(["f1", "f2", "f3"]);
    const some = [refOf(projectId, "c2"), refOf(projectId, "c0")].map(($literal) => ({ $literal }));
    expect(await ids({ query: { $expr: { $in: [{ $getField: "weave_ref" }, some] } } })).toEqual(["f0", "f2"]);
    expect(await ids(where("$eq", "payload.a\\.b.deep.0", 2))).toEqual(["f2"]);
  });

  test("in an order, page by page, with the count of all", async () => {
    const sorted = { sort_by: [{ field: "payload.score", direction: "desc" }] };
    expect(await ids(sorted)).toEqual(["f0", "f1", "f2", "f3"]);
    for (const [page, count] of [
      [{ limit: 2, offset: 1 }, 2],
      [{ limit: 2, offset: 4 }, 0],
      [{ limit: 0 }, 0],
      [{ offset: 2 }, 2],
    ] as const) {
      const { rows, total_count } = await rowsOf(projectId, { ...sorted, ...page });
      expect([rows.length, total_count]).toEqual([count, 4]);
    }
  });

  test("with just the fields that were asked for", async () => {
    const { rows } = await rowsOf(projectId, {
      fields: ["payload.score", "payload.a\\.b.deep", "creator", "created_at"],
      limit: 1,
    });
    expect(rows).toEqual([
      {
        "payload.score": 3,
        "payload.a\\.b.deep": [0],
        creator: "ann",
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/) as string,
      },
    ]);
  });

  test("refuses fields that feedback does not have", async () => {
    await expect(rowsOf(projectId, { fields: ["call_id"] })).rejects.toMatchObject({ code: "unprocessable" });
    await expect(rowsOf(projectId, { fields: ["creator.x"] })).rejects.toMatchObject({ loc: ["fields", 0] });
    await expect(rowsOf(projectId, { limit: -1 })).rejects.toMatchObject({ code: "invalid", loc: ["limit"] });
  });
});

describe("adding up", () => {
  const projectId = newProject();
  const range = { project_id: projectId, start: BigInt(Date.now() - 3_600_000) * 1000n };
  const scorer = (name: string, version: string) => `weave:///${projectId}/object/${name}:${version}`;
  const end = () => BigInt(Date.now() + 60_000) * 1000n;
  beforeAll(async () => {
    await store.feedback.createBatch(
      [1, 2, 4, "x"].map((score, index) =>
        quality(projectId, {
          feedback_type: index === 3 ? "other" : "quality",
          payload: JSON.stringify({ output: { score, passed: index > 0, note: "n", list: [1] }, "a.b": 1, n: null }),
          runnable_ref: scorer(index === 0 ? "tone" : "style guide", "v1").replace(" ", "%20"),
          trigger_ref: scorer("monitor", index < 2 ? "v1" : "v2"),
          scorer_tags: index === 0 ? ["good", "good"] : ["bad"],
          scorer_ratings: { quality: index, __proto__: 1, ...(index === 2 ? { tone: 0.5 } : {}) },
          span_agent_name: "agent",
          span_trace_id: index < 2 ? "t" : "",
          span_conversation_id: "conversation",
        }),
      ),
    );
    await store.feedback.create(quality(projectId, { feedback_type: "quality", payload: "{}" }));
  });

  test("values per bucket and over the whole range", async () => {
    const metrics = [
      { json_path: "output.score", aggregations: ["avg", "max", "sum", "count"] as const, percentiles: [50] },
      { json_path: "output.passed", value_type: "boolean" as const },
      { json_path: "output.note", value_type: "categorical" as const },
    ].map((metric) => ({ ...metric, aggregations: [...(metric.aggregations ?? [])] }));
    const stats = await store.feedback.stats({ ...range, end: end(), granularity: 86_400, metrics });
    const whole = {
      output_score: { avg: 7 / 3, max: 4, sum: 7, count: 3, p50: 2 },
      output_passed: { count_true: 3, count_false: 1 },
      output_note: { count: 4 },
    };
    expect(stats.window_stats).toEqual(whole);
    expect(stats.buckets.reduce((sum, { count }) => sum + count, 0)).toBe(5);
    expect(stats.buckets.find(({ count }) => count > 0)).toHaveProperty("count_true_output_passed");
    const typed = await store.feedback.stats({ ...range, end: end(), metrics, feedback_type: "other" });
    expect(typed.window_stats).toMatchObject({ output_score: { avg: 0, max: null }, output_note: { count: 1 } });
    const triggered = { ...range, end: end(), metrics, trigger_ref: scorer("monitor", "*") };
    expect((await store.feedback.stats(triggered)).window_stats).toEqual(whole);
    expect(await store.feedback.stats({ ...range, metrics: [] })).toMatchObject({ granularity: 3600, buckets: [] });
  });

  test("the mean of a scorer that reports numbers and booleans is that of both", async () => {
    const start = BigInt(Date.now() - 60_000) * 1000n;
    const window = { project_id: `${projectId}-mixed`, start, end: end() };
    await store.feedback.createBatch(
      [true, false, 0.5, 1].map((score, index) =>
        quality(window.project_id, {
          payload: JSON.stringify({ score }),
          trigger_ref: scorer(`monitor${index}`, "v1"),
        }),
      ),
    );
    const paths = await store.feedback.payloadSchema(window);
    expect(paths).toEqual([{ json_path: "score", value_type: "numeric" }]);
    const aggregations = ["avg" as const, "count" as const];
    const { window_stats } = await store.feedback.stats({
      ...window,
      metrics: [{ json_path: "score", value_type: "numeric", aggregations }],
    });
    expect(window_stats).toEqual({ score: { avg: 0.625, count: 4 } });
  });

  test("refuses what cannot be added up", async () => {
    const stats = (metric: object) =>
      store.feedback.stats({ ...range, metrics: [{ json_path: "a", value_type: "boolean", ...metric } as never] });
    await expect(stats({ aggregations: ["avg"] })).rejects.toMatchObject({ loc: ["metrics", 0, "aggregations"] });
    await expect(stats({ percentiles: [5] })).rejects.toMatchObject({ loc: ["metrics", 0, "percentiles"] });
    await expect(store.feedback.stats({ ...range, end: range.start })).rejects.toMatchObject({ loc: ["end"] });
  });

  test("the paths of the newest payload of each trigger", async () => {
    const paths = await store.feedback.payloadSchema({ ...range, end: end() });
    expect(paths).toEqual([
      { json_path: "n", value_type: "categorical" },
      { json_path: "output.note", value_type: "categorical" },
      { json_path: "output.passed", value_type: "boolean" },
      { json_path: "output.score", value_type: "categorical" },
    ]);
    const one = { ...range, end: end(), trigger_ref: scorer("monitor", "v1") };
    expect(await store.feedback.payloadSchema(one)).toContainEqual({
      json_path: "output.score",
      value_type: "numeric",
    });
  });

  test("tags and ratings, by group", async () => {
    const request = { ...range, end: end(), time_bucket_seconds: 316_224_000 };
    const { buckets } = await store.feedback.aggregate({ ...request, group_by: ["scorer_id", "span_agent_name"] });
    expect(buckets).toMatchObject([
      {
        group: { scorer_id: "", span_agent_name: "" },
        total_count: 1,
        scored_count: 0,
        tag_counts: {},
        rating_counts: {},
        rating_sums: {},
      },
      {
        group: { scorer_id: "style guide", span_agent_name: "agent" },
        total_count: 3,
        scored_count: 3,
        tag_counts: { bad: 3 },
        rating_counts: { quality: 3, tone: 1 },
        rating_sums: { quality: 6, tone: 0.5 },
      },
      {
        group: { scorer_id: "tone", span_agent_name: "agent" },
        total_count: 1,
        scored_count: 1,
        tag_counts: { good: 1 },
        rating_counts: { quality: 1 },
        rating_sums: { quality: 0 },
      },
    ]);
    const total = async (more: object) =>
      (await store.feedback.aggregate({ ...request, ...more })).buckets.reduce((sum, b) => sum + b.total_count, 0);
    expect(await total({ tags: ["good", "nowhere"] })).toBe(1);
    expect(await total({ rating_min: 2, rating_max: 2.5 })).toBe(1);
    expect(await total({ scorer_ids: ["style guide"] })).toBe(3);
    expect(await total({ monitor_ids: ["monitor"] })).toBe(4);
    expect(await total({ span_types: ["agent_turn"] })).toBe(2);
    expect(await total({ span_types: ["agent_conversation"], feedback_types: ["quality"] })).toBe(1);
    expect(await total({ span_agent_names: ["agent"], project_id: newProject() })).toBe(0);
  });
});

describe("feedback on calls", () => {
  const projectId = newProject();
  const call = () => `c-${randomUUID()}`;
  const [liked, noted, plain] = [call(), call(), call()];
  beforeAll(async () => {
    await store.ingest([liked, noted, plain].map((id) => completePart({ project_id: projectId, id })));
    const on = (id: string, type: string, payload: object, more: Partial<NewFeedback> = {}) =>
      quality(projectId, {
        weave_ref: refOf(projectId, id),
        feedback_type: type,
        payload: JSON.stringify(payload),
        ...more,
      });
    await store.feedback.createBatch([
      on(liked, "wandb.reaction.1", { emoji: "👍", n: 1 }),
      on(liked, "wandb.reaction.1", { emoji: "🎉", n: 20 }),
      on(liked, "score", { value: 1 }),
      on(liked, "score", { value: 9 }, { trigger_ref: "t9" }),
      on(noted, "wandb.note.1", { note: "slow" }),
      on(noted, "score", { value: 5, list: [1, 2] }, { trigger_ref: "t5" }),
      quality(newProject(), { weave_ref: refOf(projectId, plain), feedback_type: "score" }),
    ]);
  });
  const list = async (more: object) => {
    const found = [];
    for await (const { id } of store.calls.query({ project_id: projectId, ...more })) found.push(id);
    return found.toSorted();
  };
  const where = (op: string, field: string, value: unknown) => ({ [op]: [{ $getField: field }, { $literal: value }] });
  const matching = async ($expr: object) => {
    const found = await list({ query: { $expr } });
    // Keys first or all at once, the answer is the same.
    expect(await list({ query: { $expr }, limit: 10 })).toEqual(found);
    const { count } = await store.calls.count({ project_id: projectId, query: { $expr } });
    expect(count).toBe(found.length);
    return found;
  };

  test("any of several reactions may match, and of other types the first", async () => {
    const emoji = "feedback.[wandb.reaction.1].payload.emoji";
    expect(await matching(where("$eq", emoji, "🎉"))).toEqual([liked]);
    expect(await matching(where("$eq", "feedback.[*].payload.value", 9))).toEqual([liked]);
    expect(await matching(where("$gt", "feedback.[score].payload.value", 4))).toEqual([noted]);
    expect(await matching({ $not: [where("$gt", "feedback.[score].payload.value", 4)] })).toEqual([liked]);
    expect(await matching(where("$gt", "feedback.[wandb.reaction.1].payload.n", 10))).toEqual([liked]);
    expect(await matching({ $not: [where("$gt", "feedback.[wandb.reaction.1].payload.n", 10)] })).toEqual([]);
    expect(await matching(where("$eq", "feedback.[score].trigger_ref", "t5"))).toEqual([noted]);
    expect(await matching(where("$eq", "feedback.[*].trigger_ref", "t9"))).toEqual([liked]);
  });

  test("both sides of a comparison are of one piece of feedback", async () => {
    const [n, other] = ["n", "emoji"].map((name) => ({ $getField: `feedback.[wandb.reaction.1].payload.${name}` }));
    const convert = (input: unknown) => ({ $convert: { input, to: "string" } });
    expect(await matching({ $eq: [convert(n), convert(n)] })).toEqual([liked, noted, plain].toSorted());
    expect(await matching({ $eq: [n, other] })).toEqual([noted, plain].toSorted());
  });

  test("a call without feedback is like one whose feedback lacks the path", async () => {
    const emoji = "feedback.[wandb.reaction.1].payload.emoji";
    const exists = { $convert: { input: { $getField: emoji }, to: "exists" } };
    expect(await matching({ $eq: [exists, { $literal: true }] })).toEqual([liked]);
    expect(await matching(where("$eq", emoji, null))).toEqual([noted, plain].toSorted());
    expect(await matching(where("$eq", "feedback.[score].runnable_ref", null))).toHaveLength(3);
    const contains = (substr: string) => ({
      $contains: { input: { $getField: "feedback.[*].payload.note" }, substr: { $literal: substr } },
    });
    expect(await matching(contains("slo"))).toEqual([noted]);
    expect(await matching({ $not: [contains("slo")] })).toEqual([liked, plain].toSorted());
    expect(await matching({ $in: [{ $getField: emoji }, [{ $literal: "🎉" }, { $literal: "x" }]] })).toEqual([liked]);
    const size = { $size: { $getField: "feedback.[score].payload.list" } };
    expect(await matching({ $eq: [size, { $literal: 2 }] })).toEqual([noted]);
    expect(await matching({ $and: [contains("slow"), where("$eq", "id", noted)] })).toEqual([noted]);
  });

  test("calls are sorted by the first of their feedback, those without come last", async () => {
    const sorted = async (field: string, direction: string, limit?: number) => {
      const found = [];
      const request = { project_id: projectId, sort_by: [{ field, direction }] as never, limit };
      for await (const { id } of store.calls.query(request)) found.push(id);
      return found;
    };
    for (const limit of [undefined, 3]) {
      expect(await sorted("feedback.[score].payload.value", "desc", limit)).toEqual([noted, liked, plain]);
      expect(await sorted("feedback.[score].payload.value", "asc", limit)).toEqual([liked, noted, plain]);
      expect((await sorted("feedback.[wandb.reaction.1].payload.n", "asc", limit))[0]).toBe(liked);
      expect((await sorted("feedback.[score].trigger_ref", "asc", limit))[0]).toBe(noted);
    }
  });

  test("is shown with the calls of a list in one statement, and gone with a deleted call", async () => {
    const payloads = async (more: object = {}) => {
      const found = new Map<string, unknown>();
      for await (const found1 of store.calls.query({ project_id: projectId, include_feedback: true, ...more })) {
        found.set(
          found1.id,
          found1.feedback?.map((text) => (JSON.parse(text) as { payload: unknown }).payload),
        );
      }
      return found;
    };
    const all = await payloads();
    expect(all.get(liked)).toEqual([{ emoji: "👍", n: 1 }, { emoji: "🎉", n: 20 }, { value: 1 }, { value: 9 }]);
    expect(all.get(plain)).toEqual([]);
    expect(await store.calls.read({ project_id: projectId, id: noted, include_feedback: true })).toMatchObject({
      feedback: [expect.stringContaining("slow"), expect.anything()],
    });
    expect(await store.calls.read({ project_id: projectId, id: noted })).not.toHaveProperty("feedback");
    await store.calls.delete(projectId, [liked], "ann");
    expect((await payloads()).has(liked)).toBe(false);
    expect(await matching(where("$eq", "feedback.[*].payload.value", 9))).toEqual([]);
    expect((await rowsOf(projectId)).total_count).toBe(6);
  });

  test("running calls have feedback, too", async () => {
    const id = call();
    const start = { project_id: projectId, id, trace_id: id, op_name: "op", started_at: 1_775_811_600_000_000n };
    await store.ingest([{ part: "start", start: { ...start, attributes: "{}", inputs: "{}" } }]);
    await store.feedback.create(
      quality(projectId, { weave_ref: refOf(projectId, id), feedback_type: "live", payload: '{"value":7}' }),
    );
    expect(await matching(where("$eq", "feedback.[live].payload.value", 7))).toEqual([id]);
  });
});
