import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { openControlPlane } from "../src/index.js";
import type { AnnotationQueueItem, ControlPlane } from "../src/index.js";

/** What a user may expect of annotation queues on any back end. `make` gives the URL of an empty database. */
export function annotationQueueCases(backEnd: string, make: () => Promise<string>): void {
  /** Services on one database, with a clock that tests set. */
  async function open(services = 1): Promise<{ planes: ControlPlane[]; clock: { now: bigint }; first: ControlPlane }> {
    const url = await make();
    const clock = { now: 1_775_811_600_000_000n };
    const planes: ControlPlane[] = [];
    for (let n = 0; n < services; n++) planes.push(await openControlPlane({ url, now: () => clock.now }));
    onTestFinished(async () => void (await Promise.all(planes.map(async (plane) => await plane.close()))));
    const [first] = planes;
    if (first === undefined) throw new Error("no service");
    return { planes, clock, first };
  }

  async function queueOf(plane: ControlPlane, name = "answers", projectId = project): Promise<string> {
    const id = randomUUID();
    const queue = { id, project_id: projectId, name, description: "", scorer_refs: [], created_by: "ann" };
    await plane.annotationQueues.create(queue);
    return id;
  }

  async function fill(plane: ControlPlane, queueId: string, callIds: string[], call: object = {}) {
    const ids = callIds.map(() => randomUUID()).toSorted();
    const items = callIds.map((callId, at) => ({ ...callOf(callId), ...call, id: ids[at] ?? "" }));
    const request = { project_id: project, queue_id: queueId, display_fields: ["inputs.q"], added_by: "ann", items };
    return await plane.annotationQueues.addItems(request);
  }

  const items = async (plane: ControlPlane, queueId: string, request: object = {}) =>
    await plane.annotationQueues.queryItems({ project_id: project, queue_id: queueId, ...request });
  const callsOf = (list: AnnotationQueueItem[]) => list.map(({ call_id }) => call_id);
  const user = async (plane: ControlPlane, name: string) => (await plane.users.ensure(name)).id;
  const statsOf = async (plane: ControlPlane, queueId: string) =>
    (await plane.annotationQueues.stats(project, [queueId]))[0];

  const claim = async (plane: ControlPlane, queueId: string, annotator: string, request: object = {}) =>
    await plane.annotationQueues.claimNext({
      project_id: project,
      queue_id: queueId,
      annotator_user_id: annotator,
      lease_us: minute,
      ...request,
    });
  const progress = async (plane: ControlPlane, item: AnnotationQueueItem, annotator: string, state: string) =>
    await plane.annotationQueues.updateProgress({
      project_id: item.project_id,
      queue_id: item.queue_id,
      item_id: item.id,
      annotator_user_id: annotator,
      annotation_state: state,
    });

  describe(`annotation queues on ${backEnd}`, () => {
    test("a queue is read, changed and deleted in its own project, and is in no other", async () => {
      const { first, clock } = await open();
      const queues = first.annotationQueues;
      const created = {
        id: randomUUID(),
        project_id: project,
        name: "Zoë's % answers",
        description: "two\nlines, a nul\0 and \ud800",
        scorer_refs: ["weave:///acme/demo/object/spec:latest", "nul\0"],
        created_by: "ann",
      };
      await queues.create(created);
      const queue = { ...created, created_at: clock.now, updated_at: clock.now, deleted_at: null };
      expect(await queues.get(project, created.id)).toEqual(queue);
      expect(await queues.isLive(project, created.id)).toBe(true);
      await queues.create({ ...created, name: "made again" });
      expect(await queues.query({ project_id: project })).toEqual([queue]);

      clock.now += 5n;
      expect(await queues.update(project, created.id, {})).toEqual({ ...queue, updated_at: clock.now });
      const changed = { name: "other", description: "", scorer_refs: [] };
      expect(await queues.update(project, created.id, changed)).toMatchObject(changed);

      expect(await queues.isLive(rival, created.id)).toBe(false);
      expect(await queues.query({ project_id: rival })).toEqual([]);
      const missing = { code: "not_found" };
      for (const [projectId, id] of [
        [rival, created.id],
        [project, "no such queue"],
        [project, "nul\0"],
      ] as const) {
        await expect(queues.get(projectId, id)).rejects.toMatchObject(missing);
        await expect(queues.update(projectId, id, changed)).rejects.toMatchObject(missing);
        await expect(queues.delete(projectId, id)).rejects.toMatchObject(missing);
        await expect(queues.queryItems({ project_id: projectId, queue_id: id })).rejects.toMatchObject(missing);
        await expect(claim(first, id, "ann", { project_id: projectId })).rejects.toMatchObject(missing);
        const none = { project_id: projectId, queue_id: id, display_fields: [], added_by: "ann", items: [] };
        await expect(queues.addItems(none)).rejects.toMatchObject(missing);
        expect(await queues.stats(projectId, [id])).toEqual([{ queue_id: id, total_items: 0, completed_items: 0 }]);
        expect(await queues.callIds(projectId, id, 10)).toEqual([]);
      }

      clock.now += 5n;
      expect(await queues.delete(project, created.id)).toMatchObject({ deleted_at: clock.now, updated_at: clock.now });
      expect(await queues.isLive(project, created.id)).toBe(false);
      expect(await queues.query({ project_id: project })).toEqual([]);
      const deleted = { code: "not_found", details: { deleted_at: "2026-04-10T09:00:00.000Z" } };
      await expect(queues.get(project, created.id)).rejects.toMatchObject(deleted);
      await expect(queues.delete(project, created.id)).rejects.toMatchObject(deleted);
    });

    test("queues are found by a part of their name, in the order asked for, in pages", async () => {
      const { first, clock } = await open();
      const ids: string[] = [];
      for (const name of ["Alpha_1", "alpha%2", "BETA!", "ärger"]) {
        clock.now += 1000n;
        ids.push(await queueOf(first, name));
      }
      await queueOf(first, "Alpha elsewhere", rival);
      const names = async (request: object) =>
        (await first.annotationQueues.query({ project_id: project, ...request })).map(({ name }) => name);
      expect(await names({})).toEqual(["ärger", "BETA!", "alpha%2", "Alpha_1"]);
      expect(await names({ name: "ALPHA" })).toEqual(["alpha%2", "Alpha_1"]);
      expect(await names({ name: "_" })).toEqual(["Alpha_1"]);
      expect(await names({ name: "%" })).toEqual(["alpha%2"]);
      expect(await names({ name: "a!" })).toEqual(["BETA!"]);
      expect(await names({ name: "ÄR" })).toEqual(["ärger"]);
      expect(await names({ name: "nul\0" })).toEqual([]);
      expect(await names({ name: "x".repeat(100_000) })).toEqual([]);
      const byCreation = [
        { field: "nonsense; --", direction: "desc" },
        { field: "created_at", direction: "asc" },
      ];
      expect(await names({ sort_by: byCreation, limit: 2, offset: 1 })).toEqual(["alpha%2", "BETA!"]);
      const byId = await first.annotationQueues.query({
        project_id: project,
        sort_by: [{ field: "id", direction: "desc" }],
      });
      expect(byId.map(({ id }) => id)).toEqual(ids.toSorted().toReversed());
      for (const page of [{ limit: 0 }, { limit: -1 }, { offset: -1 }, { limit: 2 ** 53 }]) {
        await expect(names(page)).rejects.toMatchObject({ code: "invalid", loc: [Object.keys(page)[0]] });
      }
      const keys = Array.from({ length: 21 }, () => byCreation[1]);
      await expect(names({ sort_by: keys })).rejects.toMatchObject({ code: "invalid", loc: ["sort_by"] });
    });

    test("names that cannot be kept are refused", async () => {
      const { first } = await open();
      const id = await queueOf(first);
      for (const name of ["", "  ", "nul\0", "\ud800lone", "line\nbreak", "x".repeat(257)]) {
        const refused = { code: "unprocessable", loc: ["name"] };
        await expect(queueOf(first, name)).rejects.toMatchObject(refused);
        await expect(first.annotationQueues.update(project, id, { name })).rejects.toMatchObject(refused);
      }
      expect(await first.annotationQueues.query({ project_id: project })).toMatchObject([{ name: "answers" }]);
    });

    test("a call is in a queue once, items keep their order, and a deleted queue hides them", async () => {
      const { first, clock } = await open();
      const queue = await queueOf(first);
      const other = await queueOf(first);
      expect(await fill(first, queue, ["c", "a", "c", "b"])).toEqual({ added: 3, duplicates: 1 });
      clock.now += 1000n;
      expect(await fill(first, queue, ["b", "d", "a"])).toEqual({ added: 1, duplicates: 2 });
      expect(await fill(first, other, ["a"])).toEqual({ added: 1, duplicates: 0 });
      expect(callsOf(await items(first, queue))).toEqual(["c", "a", "b", "d"]);
      const many = Array.from({ length: 345 }, (_, n) => `call ${n}`);
      const large = await queueOf(first);
      expect(await fill(first, large, many)).toEqual({ added: 345, duplicates: 0 });
      expect(callsOf(await items(first, large))).toEqual(many);
      expect(await first.annotationQueues.stats(project, [large, "none", queue, large])).toEqual([
        { queue_id: large, total_items: 345, completed_items: 0 },
        { queue_id: "none", total_items: 0, completed_items: 0 },
        { queue_id: queue, total_items: 4, completed_items: 0 },
      ]);
      expect((await first.annotationQueues.callIds(project, queue, 10)).toSorted()).toEqual(["a", "b", "c", "d"]);
      expect(await first.annotationQueues.callIds(project, large, 10)).toHaveLength(10);
      const [item] = await items(first, queue);
      expect(item).toEqual({
        ...callOf("c"),
        id: item?.id,
        project_id: project,
        queue_id: queue,
        display_fields: ["inputs.q"],
        annotation_state: "unstarted",
        annotator_user_id: null,
        added_by: "ann",
        created_at: clock.now - 1000n,
        updated_at: clock.now - 1000n,
      });

      await first.annotationQueues.delete(project, queue);
      await expect(items(first, queue)).rejects.toMatchObject({ code: "not_found" });
      await expect(fill(first, queue, ["e"])).rejects.toMatchObject({ code: "not_found" });
      expect(await statsOf(first, queue)).toMatchObject({ total_items: 0 });
      expect(await first.annotationQueues.callIds(project, queue, 10)).toEqual([]);
      if (item) await expect(progress(first, item, "ann", "completed")).rejects.toMatchObject({ code: "invalid" });
    });

    test("calls with texts that a database would cut or change are found as they are", async () => {
      const { first } = await open();
      const queue = await queueOf(first);
      const odd = ["nul\0", "%0000", "line\nbreak", "日本語 🙂", "'; DROP TABLE annotation_queues; --", "$1"];
      for (const text of odd) await fill(first, queue, [text], { call_op_name: text, call_trace_id: text });
      expect(callsOf(await items(first, queue)).toSorted()).toEqual(odd.toSorted());
      for (const text of odd) {
        for (const filter of [{ call_id: text }, { call_op_name: text }, { call_trace_id: text }]) {
          expect(await items(first, queue, { filter })).toMatchObject([{ call_id: text, call_op_name: text }]);
        }
      }
      for (const text of ["\0", "\ud800", "%"]) expect(await items(first, queue, { filter: { id: text } })).toEqual([]);
    });

    test("items are filtered, sorted and paged, and know their position among those of the filter", async () => {
      const { first, clock } = await open();
      const queue = await queueOf(first);
      const ann = await user(first, "ann");
      for (const [n, op] of ["x", "y", "x", "y", "x"].entries()) {
        clock.now += 1000n;
        await fill(first, queue, [`c${n}`], { call_op_name: op, call_started_at: BigInt(10 - n) });
      }
      const all = await items(first, queue);
      for (const at of [1, 2, 4]) {
        clock.now += 1000n;
        await progress(first, at === 4 ? must(all[0]) : must(all[at]), ann, at === 2 ? "in_progress" : "completed");
      }
      const found = async (request: object) => callsOf(await items(first, queue, request));
      expect(await found({ filter: { call_op_name: "y" } })).toEqual(["c1", "c3"]);
      expect(await found({ filter: { added_by: "ann", call_id: "c3" } })).toEqual(["c3"]);
      expect(await found({ filter: { added_by: "bob" } })).toEqual([]);
      expect(await found({ filter: { id: all[2]?.id } })).toEqual(["c2"]);
      expect(await found({ filter: { annotation_states: ["completed", "in_progress", "completed"] } })).toEqual([
        "c0",
        "c1",
        "c2",
      ]);
      expect(await found({ filter: { annotation_states: [] } })).toHaveLength(5);
      const desc = (field: string) => ({ field, direction: "desc" });
      expect(await found({ sort_by: [{ field: "call_started_at", direction: "asc" }] })).toEqual([
        "c4",
        "c3",
        "c2",
        "c1",
        "c0",
      ]);
      expect(await found({ sort_by: [desc("call_op_name"), desc("created_at")] })).toEqual([
        "c3",
        "c1",
        "c4",
        "c2",
        "c0",
      ]);
      expect(await found({ sort_by: [desc("updated_at")], limit: 2 })).toEqual(["c0", "c2"]);
      expect(await found({ limit: 2, offset: 3 })).toEqual(["c3", "c4"]);
      expect(await found({ offset: 9 })).toEqual([]);

      const positions = async (request: object) =>
        (await items(first, queue, { include_position: true, ...request })).map(
          ({ call_id, position_in_queue }) => [call_id, position_in_queue] as const,
        );
      expect(await positions({ limit: 2, offset: 1 })).toEqual([
        ["c1", 2],
        ["c2", 3],
      ]);
      const unstarted = { call_op_name: "x", annotation_states: ["unstarted", "in_progress"] };
      expect(await positions({ filter: unstarted, offset: 1 })).toEqual([["c4", 3]]);
      expect(await positions({ filter: unstarted, sort_by: [desc("created_at")] })).toEqual([
        ["c4", 1],
        ["c2", 2],
      ]);
      expect(all[0]).not.toHaveProperty("position_in_queue");

      const refused = async (request: object, code: string, loc: unknown[]) =>
        await expect(items(first, queue, request)).rejects.toMatchObject({ code, loc });
      await refused({ sort_by: [desc("call_id")] }, "unprocessable", ["sort_by", 0, "field"]);
      await refused({ filter: { annotation_states: ["unstarted", "done"] } }, "invalid", [
        "filter",
        "annotation_states",
        1,
      ]);
      for (const page of [{ limit: 0 }, { limit: 10_001 }, { offset: -1 }, { offset: 2 ** 53 }]) {
        await refused(page, "invalid", [must(Object.keys(page)[0])]);
      }
    });

    test("more items than one response may have are asked for in pages", async () => {
      const { first } = await open();
      const queue = await queueOf(first);
      for (let n = 0; n < 11; n++) {
        const calls = Array.from({ length: n === 10 ? 1 : 1000 }, (_, at) => `${n} ${at}`);
        await fill(first, queue, calls);
      }
      await expect(items(first, queue)).rejects.toMatchObject({ code: "too_large", loc: ["limit"] });
      expect(await items(first, queue, { limit: 10_000 })).toHaveLength(10_000);
      expect(await items(first, queue, { offset: 1 })).toHaveLength(10_000);
    });

    test("each annotator has a state of their own, and the item shows the last one set", async () => {
      const { first, clock } = await open();
      const queue = await queueOf(first);
      await fill(first, queue, ["a", "b"]);
      const [item, other] = (await items(first, queue)).map(must);
      if (!item || !other) throw new Error("no items");
      const [ann, bob] = [await user(first, "ann"), await user(first, "bob")];
      clock.now += 10n;
      const begun = await progress(first, item, ann, "in_progress");
      expect(begun).toEqual({
        ...item,
        annotation_state: "in_progress",
        annotator_user_id: ann,
        updated_at: clock.now,
      });
      clock.now += 10n;
      expect(await progress(first, item, ann, "in_progress")).toEqual(begun);
      expect(await statsOf(first, queue)).toMatchObject({ total_items: 2, completed_items: 0 });
      expect(await progress(first, item, bob, "skipped")).toMatchObject({
        annotation_state: "skipped",
        annotator_user_id: bob,
      });
      expect(await progress(first, item, ann, "completed")).toMatchObject({
        annotation_state: "completed",
        annotator_user_id: ann,
      });
      expect(await statsOf(first, queue)).toMatchObject({ total_items: 2, completed_items: 1 });
      for (const [annotator, from, to] of [
        [ann, "completed", "in_progress"],
        [ann, "completed", "skipped"],
        [bob, "skipped", "completed"],
        [bob, "skipped", "in_progress"],
      ] as const) {
        await expect(progress(first, item, annotator, to)).rejects.toMatchObject({
          code: "invalid",
          message: `the annotation cannot change from ${from} to ${to}`,
          loc: ["annotation_state"],
        });
      }
      expect(await progress(first, item, bob, "skipped")).toMatchObject({ annotation_state: "completed" });
      for (const word of ["unstarted", "done", ""]) {
        await expect(progress(first, other, ann, word)).rejects.toMatchObject({ code: "invalid" });
      }
      const strange = [{ project_id: rival }, { queue_id: await queueOf(first) }, { id: "none" }, { id: "nul\0" }];
      for (const where of strange) {
        await expect(progress(first, { ...other, ...where }, ann, "completed")).rejects.toMatchObject({
          code: "invalid",
          loc: ["item_id"],
        });
      }
      expect(await items(first, queue, { filter: { id: other.id } })).toEqual([other]);
    });

    test("annotators who report at once lose nothing of each other", async () => {
      const { planes, first } = await open(2);
      const queue = await queueOf(first);
      await fill(first, queue, ["a", "b", "c"]);
      const list = await items(first, queue);
      const annotators = await Promise.all(
        Array.from({ length: 10 }, async (_, n) => await user(first, `annotator ${n}`)),
      );
      await Promise.all(
        annotators.flatMap((annotator, n) =>
          list.map(async (item, at) => {
            const plane = must(planes[(n + at) % 2]);
            await progress(plane, item, annotator, "in_progress");
            await progress(plane, item, annotator, n % 2 === 0 ? "completed" : "skipped");
          }),
        ),
      );
      expect(await statsOf(first, queue)).toMatchObject({ total_items: 3, completed_items: 3 });
      for (const [n, annotator] of annotators.entries()) {
        for (const item of list) {
          // Only the state that was stored can be set again.
          await progress(first, item, annotator, n % 2 === 0 ? "completed" : "skipped");
          await expect(progress(first, item, annotator, n % 2 === 0 ? "skipped" : "completed")).rejects.toThrow(
            "cannot change",
          );
        }
      }
    });

    test("twenty who claim at once get twenty items, and the next nothing", async () => {
      const { planes, first } = await open(2);
      const queue = await queueOf(first);
      await fill(
        first,
        queue,
        Array.from({ length: 20 }, (_, n) => `c${n}`),
      );
      const annotators = await Promise.all(Array.from({ length: 21 }, async (_, n) => await user(first, `user ${n}`)));
      const claims = await Promise.all(
        annotators.map(async (annotator, n) => await claim(must(planes[n % 2]), queue, annotator)),
      );
      const claimed = claims.filter((one) => one !== undefined);
      expect(new Set(claimed.map(({ item }) => item.id)).size).toBe(20);
      expect(claimed).toHaveLength(20);
      expect(claimed.every(({ item }) => item.annotation_state === "in_progress")).toBe(true);
      expect(new Set(claimed.map(({ item }) => item.annotator_user_id)).size).toBe(20);
    });

    test("a claim lasts for its time, is given again to who has it, and then goes to others", async () => {
      const { first, clock } = await open();
      const queue = await queueOf(first);
      await fill(first, queue, ["a", "b"]);
      const [ann, bob, eve] = [await user(first, "ann"), await user(first, "bob"), await user(first, "eve")];
      const start = clock.now;
      const mine = await claim(first, queue, ann);
      expect(mine).toMatchObject({ item: { call_id: "a", annotator_user_id: ann }, claimed_until: start + minute });
      expect(await claim(first, queue, ann)).toEqual(mine);
      clock.now += minute / 2n;
      // What is asked for again lasts longer, never less long, and is the same whatever the filter.
      expect(await claim(first, queue, ann, { lease_us: 1n })).toEqual(mine);
      const longer = await claim(first, queue, ann, { filter: { call_id: "b" } });
      expect(longer).toMatchObject({ item: { call_id: "a" }, claimed_until: clock.now + minute });
      expect(await claim(first, queue, bob)).toMatchObject({ item: { call_id: "b" } });
      expect(await claim(first, queue, eve)).toBeUndefined();

      clock.now += minute - 1n;
      expect(await claim(first, queue, eve)).toBeUndefined();
      clock.now += 1n;
      expect(await claim(first, queue, eve, { filter: { call_id: "none" } })).toBeUndefined();
      expect(await claim(first, queue, eve, { filter: { annotation_states: ["unstarted"] } })).toBeUndefined();
      const [a] = await items(first, queue, { filter: { call_id: "a" } });
      expect(await claim(first, queue, eve)).toMatchObject({ item: { id: a?.id, annotator_user_id: eve } });
      expect(await claim(first, queue, ann)).toMatchObject({ item: { call_id: "b", annotator_user_id: ann } });
      expect(await claim(first, queue, bob)).toBeUndefined();
      // Who was too slow may still finish.
      await progress(first, must(a), ann, "completed");
      expect(await claim(first, queue, eve)).toBeUndefined();
      clock.now += 2n * minute;
      expect(await claim(first, queue, eve)).toMatchObject({ item: { call_id: "b" } });
    });

    test("a clock that was set back by years holds no claim", async () => {
      const { first, clock } = await open();
      const queue = await queueOf(first);
      await fill(first, queue, ["a"]);
      const [ann, bob] = [await user(first, "ann"), await user(first, "bob")];
      clock.now += 1_000_000n * minute;
      await claim(first, queue, ann);
      expect(await claim(first, queue, bob)).toBeUndefined();
      clock.now -= 900_000n * minute;
      const next = await claim(first, queue, bob);
      expect(next?.item.call_id).toBe("a");
      expect(next?.claimed_until).toBe(clock.now + minute);
      expect(await claim(first, queue, ann)).toBeUndefined();
    });

    test("items that somebody has finished, or began without a claim, are not claimed", async () => {
      const { first, clock } = await open();
      const queue = await queueOf(first);
      await fill(first, queue, ["a", "b", "c", "d"]);
      const [ann, bob] = [await user(first, "ann"), await user(first, "bob")];
      const [a, b, c, d] = (await items(first, queue)).map(must);
      if (!a || !b || !c || !d) throw new Error("no items");
      await progress(first, a, ann, "in_progress");
      await progress(first, b, ann, "skipped");
      expect(await claim(first, queue, bob)).toMatchObject({ item: { id: c.id } });
      // A claim that ran out, on an item that somebody else has begun since.
      await progress(first, c, ann, "in_progress");
      clock.now += 2n * minute;
      expect(await claim(first, queue, bob)).toMatchObject({ item: { id: d.id } });
      expect((await progress(first, d, bob, "completed")).annotation_state).toBe("completed");
      expect(await claim(first, queue, bob)).toBeUndefined();
      expect(await claim(first, queue, ann, { filter: { annotation_states: ["completed"] } })).toBeUndefined();
      expect(await statsOf(first, queue)).toMatchObject({ total_items: 4, completed_items: 2 });
    });
  });
}

const [project, rival] = ["acme/demo", "rival/demo"];
const minute = 60_000_000n;

function callOf(callId: string) {
  return {
    call_id: callId,
    call_started_at: 1_775_811_000_000_000n,
    call_ended_at: callId === "a" ? null : 1_775_811_001_250_001n,
    call_op_name: "answer",
    call_trace_id: "trace",
  };
}

function must<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("missing");
  return value;
}
