import type { Sharer } from "@heddle/concurrency";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../test/store.js";
import { shareEngine } from "./engine-shares.js";

const db = testDatabase();
beforeAll(async () => {
  await db.open();
});
afterAll(() => db.drop());

let sharer: Sharer | undefined;
const many = { sql: "SELECT number FROM numbers(1000000)" };
const one = { sql: "SELECT 1 AS x" };

test("streams that a key leaves unread hold back its own reads, not those of others and no writes", async () => {
  const { engines: shared, load } = shareEngine(db.engine, {
    sharer: () => sharer,
    readsPerKey: 2,
    readsPerEntity: 3,
    messages: { key: "of the key", entity: "of the entity" },
  });
  sharer = { key: "greedy", entity: "acme" };
  const unread = [shared.reads.stream(many), shared.reads.stream(many)].map((rows) => rows[Symbol.asyncIterator]());
  for (const iterator of unread) await iterator.next();
  let own = false;
  const third = shared.reads.rows(one).then(() => (own = true));
  expect(await shared.writes.rows(one)).toEqual([{ x: 1 }]);
  expect(await shared.commits.rows(one)).toEqual([{ x: 1 }]);
  sharer = { key: "other", entity: "acme" };
  expect(await shared.reads.rows(one)).toEqual([{ x: 1 }]);
  sharer = { key: "neighbour", entity: "neighbour" };
  expect(await shared.reads.rows(one)).toEqual([{ x: 1 }]);
  expect(own).toBe(false);
  expect(load()).toEqual({
    reads: { capacity: 8, held: 2, waiting: 1 },
    lookups: { capacity: 2, held: 0, waiting: 0 },
    writes: { capacity: 3, held: 0, waiting: 0 },
    commits: { capacity: 1, held: 0, waiting: 0 },
  });
  await unread[0]?.return?.();
  await third;
  await unread[1]?.return?.();
});
