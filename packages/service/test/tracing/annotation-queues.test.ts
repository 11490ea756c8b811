import { postgresDatabases, postgresUrl } from "@heddle/control-plane/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

const databases = postgresUrl === undefined ? undefined : postgresDatabases(postgresUrl);
afterAll(async () => await databases?.drop());

const sqlite = ["SQLite", undefined] as const;
const backEnds = databases === undefined ? [sqlite] : [sqlite, ["Postgres", () => databases.make()] as const];

describe.each(backEnds)("annotation queues with the control plane on %s", (_, makeDatabase) => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService(makeDatabase && { HEDDLE_DATABASE_URL: await makeDatabase() });
  });
  afterAll(() => service.close());
  afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

  const minutesFrom = (from: string | undefined, until: string | null) =>
    Math.round((Date.parse(until ?? "") - Date.parse(from ?? "")) / 60_000);

  /** A queue of a new project with calls `c0`, `c1`…, each with a question. */
  async function queueOfCalls(count: number, displayFields: string[] = []) {
    const projectId = newProject();
    const tracing = service.tracing();
    const ids = Array.from({ length: count }, (__, n) => `c${n}`);
    const batch = ids.map((id, n) => ({
      mode: "start" as const,
      req: { start: { ...callOf(projectId, id), inputs: { question: n, none: null } } },
    }));
    await tracing.callStartBatch({ batch });
    const { id: queueId } = await tracing.annotationQueueCreate({ project_id: projectId, name: "q", scorer_refs: [] });
    const inQueue = { project_id: projectId, queue_id: queueId };
    const added = await tracing.annotationQueueAddCalls({ ...inQueue, call_ids: ids, display_fields: displayFields });
    expect(added).toEqual({ added_count: count, duplicates: 0 });
    return { tracing, in_queue: inQueue, project_id: projectId, queue_id: queueId };
  }

  test("from a queue and its calls to annotated items", async () => {
    const projectId = newProject();
    const tracing = service.tracing();
    const started = { ...callOf(projectId, "a"), inputs: { question: "2+2?", big: 1e20 } };
    await tracing.callStart({ start: started });
    await tracing.callStart({ start: callOf(projectId, "b") });
    await tracing.callEnd({
      end: { project_id: projectId, id: "a", ended_at: "2026-04-10T09:00:01Z", output: [{ x: 1.5 }], summary: {} },
    });
    await tracing.callStart({ start: callOf(projectId, "gone") });
    await tracing.callsDelete({ project_id: projectId, call_ids: ["gone"] });

    const created = {
      project_id: projectId,
      name: "Answers",
      description: "Right?",
      scorer_refs: ["weave:///a/b/object/s:v0"],
    };
    const { id } = await tracing.annotationQueueCreate(created);
    const { queue } = await tracing.annotationQueueRead({ project_id: projectId, queue_id: id });
    const owner = (await service.services.control.users.ensure("owner")).id;
    expect(queue).toEqual({
      ...created,
      id,
      created_by: owner,
      created_at: queue.created_at,
      updated_at: queue.created_at,
      deleted_at: null,
    });
    const listed = [];
    for await (const one of tracing.annotationQueuesQueryStream({ project_id: projectId, name: "ANSW" }))
      listed.push(one);
    expect(listed).toEqual([queue]);

    const inQueue = { project_id: projectId, queue_id: id };
    const fields = {
      display_fields: ["inputs.question", "output.0", "summary.weave.status", "op_name", "nothing.here"],
    };
    const add = { ...inQueue, ...fields, call_ids: ["b", "unknown", "gone", "a", "a"] };
    expect(await tracing.annotationQueueAddCalls(add)).toEqual({ added_count: 2, duplicates: 1 });
    expect(await tracing.annotationQueueAddCalls(add)).toEqual({ added_count: 0, duplicates: 3 });
    expect(await tracing.annotationQueueAddCalls({ ...add, call_ids: [] })).toEqual({ added_count: 0, duplicates: 0 });

    const wanted = { include_call: true, columns: ["inputs"], include_display_values: true, include_position: true };
    const { items } = await tracing.annotationQueueItemsQuery({ ...inQueue, ...wanted });
    expect(items).toMatchObject([
      {
        call_id: "b",
        call_ended_at: null,
        display_values: {
          "inputs.question": null,
          "output.0": null,
          "summary.weave.status": "running",
          op_name: "answer",
          "nothing.here": null,
        },
        position_in_queue: 1,
      },
      {
        ...inQueue,
        ...fields,
        call_id: "a",
        call_started_at: "2026-04-10T09:00:00.000000Z",
        call_ended_at: "2026-04-10T09:00:01.000000Z",
        call_op_name: "answer",
        call_trace_id: "t",
        added_by: owner,
        created_by: owner,
        annotation_state: "unstarted",
        annotator_user_id: null,
        deleted_at: null,
        call: { id: "a", inputs: started.inputs, attributes: {} },
        display_values: { "inputs.question": "2+2?", "output.0": { x: 1.5 }, "summary.weave.status": "success" },
        position_in_queue: 2,
      },
    ]);
    await tracing.callsDelete({ project_id: projectId, call_ids: ["b"] });
    const later = await tracing.annotationQueueItemsQuery({ ...inQueue, ...wanted, limit: 1 });
    expect(later.items).toMatchObject([{ call_id: "b", call: null, display_values: null }]);
    const plain = await tracing.annotationQueueItemsQuery({ ...inQueue, limit: 1 });
    for (const key of ["call", "display_values", "position_in_queue"]) expect(plain.items[0]).not.toHaveProperty(key);

    const ann = service.tracing(await service.key({ user_name: "ann" }));
    const claim = await ann.annotationQueueClaimNext({ ...inQueue, filter: { call_id: "a" }, lease_seconds: 60 });
    const annotator = (await service.services.control.users.ensure("ann")).id;
    expect(claim.item).toMatchObject({
      id: items[1]?.id,
      annotation_state: "in_progress",
      annotator_user_id: annotator,
    });
    // Claims go by a clock that nobody sets, which may differ by some milliseconds.
    expect(minutesFrom(claim.item?.updated_at, claim.claimed_until)).toBe(1);
    const stats = async () => (await tracing.annotationQueuesStats({ project_id: projectId, queue_ids: [id] })).stats;
    expect(await stats()).toEqual([{ queue_id: id, total_items: 2, completed_items: 0 }]);
    const done = await ann.annotationQueueItemProgressUpdate({
      ...inQueue,
      item_id: claim.item?.id ?? "",
      annotation_state: "completed",
    });
    expect(done.item).toMatchObject({ annotation_state: "completed", annotator_user_id: annotator });
    expect(await stats()).toEqual([{ queue_id: id, total_items: 2, completed_items: 1 }]);

    const updated = await tracing.annotationQueueUpdate({ ...inQueue, name: "Other", scorer_refs: [] });
    expect(updated.queue).toMatchObject({ name: "Other", description: "Right?", scorer_refs: [] });
    const deleted = await tracing.annotationQueueDelete(inQueue);
    expect(deleted.queue.deleted_at).toBe(deleted.queue.updated_at);
    await expect(tracing.annotationQueueDelete(inQueue)).rejects.toMatchObject({ status: 404 });
    await expect(tracing.annotationQueueItemsQuery(inQueue)).rejects.toMatchObject({ status: 404 });
    expect((await tracing.callRead({ project_id: projectId, id: "a" })).call?.id).toBe("a");
  });

  test("the next item is claimed while one is worked on, and done is taken back", async () => {
    const { tracing, in_queue } = await queueOfCalls(3);
    const ann = service.tracing(await service.key({ user_name: "ann" }));
    const bob = service.tracing(await service.key({ user_name: "bob" }));
    const first = (await ann.annotationQueueClaimNext(in_queue)).item;
    const ahead = (await ann.annotationQueueClaimNext({ ...in_queue, except: [first?.id ?? ""] })).item;
    expect([first?.call_id, ahead?.call_id]).toEqual(["c0", "c1"]);
    const both = [first?.id ?? "", ahead?.id ?? ""];
    const other = (await bob.annotationQueueClaimNext({ ...in_queue, except: ["\0", "unknown"] })).item;
    expect(other?.call_id).toBe("c2");
    expect((await ann.annotationQueueClaimNext({ ...in_queue, except: both })).item).toBeNull();

    const set = (client: typeof ann, itemId: string, state: string) =>
      client.annotationQueueItemProgressUpdate({ ...in_queue, item_id: itemId, annotation_state: state });
    const queue = { project_id: in_queue.project_id, queue_ids: [in_queue.queue_id] };
    const stats = async () => (await tracing.annotationQueuesStats({ ...queue, include_annotators: true })).stats;
    await set(ann, both[0] ?? "", "completed");
    await set(bob, both[0] ?? "", "completed");
    await set(ann, both[1] ?? "", "skipped");
    expect(await stats()).toMatchObject([
      {
        total_items: 3,
        completed_items: 2,
        annotators: [
          { name: "ann", completed: 1, skipped: 1 },
          { name: "bob", completed: 1, skipped: 0 },
        ],
      },
    ]);
    expect((await tracing.annotationQueuesStats(queue)).stats[0]).not.toHaveProperty("annotators");

    const reopen = (client: typeof ann, itemId: string) =>
      client.annotationQueueItemReopen({ ...in_queue, item_id: itemId, lease_seconds: 60 });
    const reopened = await reopen(ann, both[1] ?? "");
    expect(reopened.item).toMatchObject({ id: both[1], annotation_state: "in_progress" });
    expect(minutesFrom(reopened.item.updated_at, reopened.claimed_until)).toBe(1);
    expect((await ann.annotationQueueClaimNext(in_queue)).item?.id).toBe(both[1]);
    // The other annotator of the first item has it completed still.
    await reopen(ann, both[0] ?? "");
    expect(await stats()).toMatchObject([
      { completed_items: 1, annotators: [{ name: "bob", completed: 1, skipped: 0 }] },
    ]);
    await reopen(ann, both[0] ?? "");
    await set(ann, both[1] ?? "", "completed");
    expect(await stats()).toMatchObject([{ completed_items: 2 }]);

    expect(await reopen(ann, other?.id ?? "")).toMatchObject({
      item: { annotation_state: "in_progress", annotator_user_id: other?.annotator_user_id },
      claimed_until: null,
    });
    await expect(reopen(ann, "unknown")).rejects.toMatchObject({ status: 400 });
    await expect(ann.annotationQueueClaimNext({ ...in_queue, except: Array(101).fill("x") })).rejects.toThrow("100");
  });

  test("a claim brings what is to be seen of the call, and given back it is for others at once", async () => {
    const { tracing, in_queue } = await queueOfCalls(2, ["inputs.question"]);
    const ann = service.tracing(await service.key({ user_name: "ann" }));
    const bob = service.tracing(await service.key({ user_name: "bob" }));
    const claimed = await ann.annotationQueueClaimNext({ ...in_queue, include_display_values: true });
    expect(claimed.item).toMatchObject({ call_id: "c0", display_values: { "inputs.question": 0 } });
    expect((await ann.annotationQueueClaimNext(in_queue)).item).not.toHaveProperty("display_values");
    const own = claimed.item?.id ?? "";
    const release = async (client: typeof ann, ids: string[]) =>
      (await client.annotationQueueItemsRelease({ ...in_queue, item_ids: ids })).released_count;
    // Nobody gives back what another has.
    expect(await release(bob, [own])).toBe(0);
    expect(await release(ann, [own, "unknown", "\0"])).toBe(1);
    expect(await release(ann, [own])).toBe(0);
    expect((await bob.annotationQueueClaimNext(in_queue)).item?.id).toBe(own);
    const second = (await ann.annotationQueueClaimNext(in_queue)).item;
    expect(second?.call_id).toBe("c1");
    // Who gave one back may have it again.
    expect(await release(bob, [own])).toBe(1);
    expect((await ann.annotationQueueClaimNext({ ...in_queue, except: [second?.id ?? ""] })).item?.id).toBe(own);
    await tracing.annotationQueueDelete(in_queue);
    await expect(release(ann, [own])).rejects.toMatchObject({ status: 404 });
  });

  test("twenty annotators who claim at once get twenty items, and finish them all", async () => {
    const { tracing, in_queue } = await queueOfCalls(20);
    const annotators = await Promise.all(
      Array.from({ length: 21 }, async (__, n) => service.tracing(await service.key({ user_name: `user ${n}` }))),
    );
    const claims = await Promise.all(annotators.map(async (client) => await client.annotationQueueClaimNext(in_queue)));
    const items = claims.map(({ item }) => item?.id).filter((id) => id !== undefined);
    expect(new Set(items).size).toBe(20);
    expect(claims.filter(({ item }) => item === null)).toEqual([{ item: null, claimed_until: null }]);
    // Each asks again, then finishes; so does everybody else with one and the same item.
    await Promise.all(
      annotators.map(async (client, n) => {
        const again = await client.annotationQueueClaimNext(in_queue);
        expect(again.item?.id).toBe(claims[n]?.item?.id);
        const mine = [again.item?.id, items[0]].filter((id) => id !== undefined);
        for (const itemId of new Set(mine)) {
          const state = { annotation_state: n % 2 === 0 ? "completed" : "skipped" };
          await client.annotationQueueItemProgressUpdate({ ...in_queue, item_id: itemId, ...state });
        }
      }),
    );
    const { stats } = await tracing.annotationQueuesStats({
      project_id: in_queue.project_id,
      queue_ids: [in_queue.queue_id],
    });
    expect(stats).toMatchObject([{ total_items: 20, completed_items: 20 }]);
    for (const [n, client] of annotators.entries()) {
      const wrong = { annotation_state: n % 2 === 0 ? "skipped" : "completed" };
      const update = { ...in_queue, item_id: items[0] ?? "", ...wrong };
      await expect(client.annotationQueueItemProgressUpdate(update)).rejects.toMatchObject({ status: 400 });
    }
  });

  test("a request that is repeated makes one queue", async () => {
    const tracing = service.tracing();
    const request = { project_id: newProject(), name: "q", scorer_refs: [] };
    const create = async (change: object = {}) =>
      await tracing.annotationQueueCreate({ ...request, ...change }, { retryId: "once" });
    const created = await create();
    expect(await create()).toEqual(created);
    expect(await create({ project_id: newProject() })).not.toEqual(created);
    const queues = [];
    const { project_id, name } = request;
    for await (const { id } of tracing.annotationQueuesQueryStream({ project_id, name })) queues.push(id);
    expect(queues).toEqual([created.id]);
  });

  test("calls are found by the queues they are in", async () => {
    const { tracing, project_id, queue_id } = await queueOfCalls(4);
    await tracing.callStart({ start: callOf(project_id, "outside") });
    const { id: other } = await tracing.annotationQueueCreate({ project_id, name: "other", scorer_refs: [] });
    await tracing.annotationQueueAddCalls({
      project_id,
      queue_id: other,
      call_ids: ["c1", "outside"],
      display_fields: [],
    });
    const field = { $getField: "annotation_queue_items.queue_id" };
    const is = (id: unknown) => ({ $eq: [field, { $literal: id }] });
    const found = async ($expr: unknown) =>
      (await tracing.callsQuery({ project_id, query: { $expr } as never })).calls.map(({ id }) => id).toSorted();
    expect(await found(is(other))).toEqual(["c1", "outside"]);
    expect(await found({ $eq: [{ $literal: other }, field] })).toEqual(["c1", "outside"]);
    expect(await found({ $and: [is(other), { $not: [is(queue_id)] }] })).toEqual(["outside"]);
    expect(await found({ $in: [field, [{ $literal: other }, { $literal: queue_id }]] })).toHaveLength(5);
    expect(await found(is("no such queue"))).toEqual([]);
    expect(await found({ $in: [field, []] })).toEqual([]);
    expect(await found({ $eq: [{ $getField: "op_name" }, { $literal: "annotation_queue_items.queue_id" }] })).toEqual(
      [],
    );
    const query = { $expr: is(queue_id) } as never;
    expect(await tracing.callsQueryStats({ project_id, query })).toMatchObject({ count: 4 });
    const streamed = [];
    for await (const call of tracing.callsQueryStream({ project_id, query })) streamed.push(call.id);
    expect(streamed).toHaveLength(4);
    expect(Object.keys((await tracing.traceUsage({ project_id, query })).call_usage)).toHaveLength(4);
    // Of another project nothing is found, whatever the queue.
    expect((await tracing.callsQuery({ project_id: newProject(), query })).calls).toEqual([]);

    for (const $expr of [
      { $contains: { input: field, substr: { $literal: "x" } } },
      { $eq: [field, { $literal: null }] },
      { $eq: [field, { $getField: "id" }] },
      { $in: [field, [{ $literal: 1 }]] },
      { $gt: [field, { $literal: "x" }] },
    ]) {
      await expect(found($expr)).rejects.toMatchObject({
        status: 400,
        body: { reason: expect.stringContaining("can only be compared by $eq or $in with ids of queues") },
      });
    }
    const many = Array.from({ length: 21 }, (__, n) => ({ $literal: `q${n}` }));
    await expect(found({ $in: [field, many] })).rejects.toMatchObject({ status: 413 });
  });

  test("bad input is refused by name, and changes nothing", async () => {
    const { tracing, in_queue, project_id } = await queueOfCalls(1);
    const { items } = await tracing.annotationQueueItemsQuery(in_queue);
    const itemId = items[0]?.id ?? "";
    const progress = (request: object) =>
      tracing.annotationQueueItemProgressUpdate({
        ...in_queue,
        item_id: itemId,
        annotation_state: "completed",
        ...request,
      });
    const add = (callIds: string[], request: object = {}) =>
      tracing.annotationQueueAddCalls({ ...in_queue, call_ids: callIds, display_fields: [], ...request });
    const query = (request: object) => tracing.annotationQueueItemsQuery({ ...in_queue, ...request });
    const claim = (request: object) => tracing.annotationQueueClaimNext({ ...in_queue, ...request });
    const create = (request: object) =>
      tracing.annotationQueueCreate({ project_id, name: "q", scorer_refs: [], ...request });
    const thousands = Array.from({ length: 10_000 }, (__, n) => `c${n}`);
    const stranger = service.tracing(await service.key({ user_name: "eve", entity: "rival", role: "admin" }));
    const reader = service.tracing(await service.key({ user_name: "ray", role: "read" }));
    const cases: Array<[status: number, text: string, send: () => Promise<unknown>]> = [
      [
        400,
        "body.annotation_state: must be in_progress, completed or skipped",
        () => progress({ annotation_state: "unstarted" }),
      ],
      [400, "body.annotation_state: must be in_progress", () => progress({ annotation_state: "done" })],
      [400, "path.item_id: there is no item none in the annotation queue", () => progress({ item_id: "none" })],
      [400, "path.item_id: there is no item", () => progress({ queue_id: "none" })],
      [404, "no annotation queue none", () => add(["c0"], { queue_id: "none" })],
      [404, "no annotation queue none", () => query({ queue_id: "none" })],
      [404, "no annotation queue none", () => claim({ queue_id: "none" })],
      [404, "no annotation queue a\\u0000", () => tracing.annotationQueueRead({ project_id, queue_id: "a\0" })],
      [404, "no annotation queue none", () => tracing.annotationQueueUpdate({ project_id, queue_id: "none" })],
      [413, "call_ids", () => add(thousands)],
      [413, "queue_ids", () => tracing.annotationQueuesStats({ project_id, queue_ids: thousands })],
      [
        400,
        "body.filter.annotation_states.0: must be unstarted",
        () => query({ filter: { annotation_states: ["x"] } }),
      ],
      [
        400,
        "body.filter.annotation_states.0: must be unstarted",
        () => claim({ filter: { annotation_states: ["x"] } }),
      ],
      [422, "state", () => query({ filter: { state: "x" } })],
      [422, "items cannot be sorted by id", () => query({ sort_by: [{ field: "id", direction: "asc" }] })],
      [400, "body.limit: limit must be at least 1 and at most 10000", () => query({ limit: 0 })],
      [400, "body.offset: offset must be at least 0", () => query({ offset: -1 })],
      [422, "lease_seconds", () => claim({ lease_seconds: 9 })],
      [422, "lease_seconds", () => claim({ lease_seconds: 86_401 })],
      [422, "name", () => create({ name: "" })],
      [422, "name must not be blank", () => create({ name: "  " })],
      [422, "control characters", () => create({ name: "a\0b" })],
      [422, "name", () => create({ name: "x".repeat(257) })],
      [422, "control characters", () => tracing.annotationQueueUpdate({ ...in_queue, name: "\ud800" })],
      [400, "unknown project in the ref", () => create({ scorer_refs: ["weave-trace-internal:///x/object/o:d"] })],
      [403, "Forbidden", () => stranger.annotationQueueClaimNext(in_queue)],
      [
        403,
        "Forbidden",
        () =>
          stranger.annotationQueueItemProgressUpdate({ ...in_queue, item_id: itemId, annotation_state: "completed" }),
      ],
      [403, "Forbidden", () => reader.annotationQueueClaimNext(in_queue)],
    ];
    for (const [status, text, send] of cases) {
      const error = await send().then(
        () => ({ status: 200 }),
        (thrown: { status: number; body: unknown }) => ({ status: thrown.status, text: JSON.stringify(thrown.body) }),
      );
      expect(error).toEqual({ status, text: expect.stringContaining(text) });
    }
    expect((await query({})).items).toEqual(items);
    await progress({});
    await expect(progress({ annotation_state: "skipped" })).rejects.toMatchObject({
      status: 400,
      body: { reason: "body.annotation_state: the annotation cannot change from completed to skipped" },
    });
  });
});

function callOf(projectId: string, id: string) {
  return {
    project_id: projectId,
    id,
    trace_id: "t",
    op_name: "answer",
    started_at: "2026-04-10T09:00:00Z",
    attributes: {},
    inputs: {},
  };
}
