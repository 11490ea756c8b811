import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completePart, endPart, newProject, startPart } from "../../test/call-parts.js";
import { listIds } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import type { CallsQuery } from "../calls/calls.js";
import type { TraceStore } from "../store.js";

const t0 = 1_775_811_600_000_000n;
const field = (name: string) => ({ $getField: name });
const number = (name: string) => ({ $convert: { input: field(name), to: "double" } });

/** A call of three runs, one of three has no `y`. */
const calls = Array.from({ length: 3000 }, (_, n) => ({
  id: `c${String(n).padStart(4, "0")}`,
  runs: n % 3 !== 0,
  x: n % 50,
  y: n % 3 === 1 ? undefined : `group ${n % 7}`,
}));
type Made = (typeof calls)[number];

const conditions: Array<{ name: string; expression: object; holds: (call: Made) => boolean }> = [
  { name: "inputs.x is 7", expression: { $eq: [number("inputs.x"), { $literal: 7 }] }, holds: ({ x }) => x === 7 },
  {
    name: "inputs.x is above 47",
    expression: { $gt: [number("inputs.x"), { $literal: 47 }] },
    holds: ({ x }) => x > 47,
  },
  {
    name: "attributes.y is a text",
    expression: { $eq: [field("attributes.y"), { $literal: "group 3" }] },
    holds: ({ y }) => y === "group 3",
  },
  {
    name: "attributes.y contains a text, and inputs.x is small",
    expression: {
      $and: [
        { $contains: { input: field("attributes.y"), substr: { $literal: "UP 5" }, case_insensitive: true } },
        { $not: [{ $gte: [number("inputs.x"), { $literal: 10 }] }] },
      ],
    },
    holds: ({ x, y }) => y === "group 5" && x < 10,
  },
  {
    name: "attributes.y is missing, or inputs.x is 1",
    expression: {
      $or: [{ $eq: [field("attributes.y"), { $literal: null }] }, { $eq: [number("inputs.x"), { $literal: 1 }] }],
    },
    holds: ({ x, y }) => y === undefined || x === 1,
  },
  { name: "nothing has it", expression: { $eq: [field("inputs.none.of"), { $literal: "x" }] }, holds: () => false },
];

describe.each([
  { where: "in memory", openSideCacheBytes: 10_000_000 },
  { where: "in their table alone", openSideCacheBytes: 0 },
])("conditions on payloads beside thousands of running calls $where", ({ openSideCacheBytes }) => {
  const db = testDatabase();
  const projectId = newProject();
  const gone = new Set<string>();
  let store: TraceStore;
  beforeAll(async () => {
    store = await db.open({ limits: { openSideCacheBytes } });
    const parts = calls.map(({ id, runs, x, y }, n) => {
      const start = {
        project_id: projectId,
        id,
        started_at: t0 + BigInt(n),
        inputs: JSON.stringify({ x }),
        attributes: JSON.stringify({ y }),
      };
      return runs ? startPart(start) : completePart(start);
    });
    await store.ingest(parts);
  });
  afterAll(() => db.drop());

  const expectAll = async () => {
    for (const { name, expression, holds } of conditions) {
      const found = calls.filter((call) => !gone.has(call.id) && holds(call)).map(({ id }) => id);
      const request: CallsQuery = { project_id: projectId, query: { $expr: expression } };
      expect([name, await listIds(store, request)]).toEqual([name, found]);
      const page: CallsQuery = {
        ...request,
        limit: 20,
        offset: 5,
        sort_by: [{ field: "started_at", direction: "desc" }],
      };
      expect([name, await listIds(store, page)]).toEqual([name, found.toReversed().slice(5, 25)]);
      expect([name, await store.calls.count(request)]).toMatchObject([name, { count: found.length }]);
    }
  };

  it("find those that run and those that have ended, each once", async () => {
    await expectAll();
  });

  it("find them while calls end, are deleted, and after a restart", async () => {
    const some = calls.filter(({ runs }, n) => runs && n % 2 === 0).map(({ id }) => id);
    const reading = expectAll();
    for (let at = 0; at < some.length; at += 200) {
      await store.ingest(some.slice(at, at + 200).map((id) => endPart({ project_id: projectId, id })));
    }
    await reading;
    const deleted = calls.filter((_, n) => n % 11 === 0).map(({ id }) => id);
    await store.calls.delete(projectId, deleted, "user");
    for (const id of deleted) gone.add(id);
    await expectAll();
    await store.close();
    store = await db.open({ limits: { openSideCacheBytes } });
    await expectAll();
  });
});
