import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../test/store.js";

// With the engine's defaults a power cut takes every recent write, and damaged parts keep it from starting again.
const durable = [
  "fsync_after_insert = 1",
  "fsync_part_directory = 1",
  "min_rows_to_fsync_after_merge = 1",
  "max_suspicious_broken_parts = 1000000",
  "old_parts_lifetime = 60",
];

const db = testDatabase();
beforeAll(async () => await (await db.open()).close());
afterAll(() => db.drop());

test("every table of the store is on disk before a write is acknowledged, as the engine itself has it", async () => {
  const tables = await db.engine.rows<{ name: string; engine: string; engine_full: string }>({
    sql: `SELECT name, engine, engine_full FROM system.tables WHERE database = '${db.name}' AND NOT is_temporary`,
  });
  expect(tables.length).toBeGreaterThan(10);
  for (const { name, engine, engine_full } of tables) {
    expect({ name, engine }).toEqual({ name, engine: expect.stringMatching(/MergeTree$/) });
    expect({ name, missing: durable.filter((setting) => !engine_full.includes(setting)) }).toEqual({
      name,
      missing: [],
    });
  }
});
