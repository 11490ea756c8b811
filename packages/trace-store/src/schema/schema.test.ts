import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../test/store.js";
import { schema, tableFacts } from "./schema.js";

interface EngineTable {
  name: string;
  engine: string;
  engine_full: string;
  partition_key: string;
  sorting_key: string;
  columns: Record<string, string>;
}

const db = testDatabase();
const tables = new Map<string, EngineTable>();
beforeAll(async () => {
  await (await db.open()).close();
  const columns = `SELECT mapFromArrays(groupArray(name), groupArray(type)) FROM system.columns
    WHERE database = '${db.name}' AND table = t.name`;
  const found = await db.engine.rows<EngineTable>({
    sql: `SELECT name, engine, engine_full, partition_key, sorting_key, (${columns}) AS columns
      FROM system.tables AS t WHERE database = '${db.name}' AND NOT is_temporary`,
  });
  for (const table of found) tables.set(table.name, table);
});
afterAll(() => db.drop());

test("every table that the migrations make has its facts, and every entry of the schema its table", () => {
  expect([...tables.keys()].toSorted()).toEqual(Object.keys(schema).toSorted());
});

test.each(tableFacts)("the engine's %s is the table that the schema describes", (name, facts) => {
  const table = tables.get(name);
  const keyColumns = [facts.versionColumn ?? [], facts.deletedColumn ?? []].flat();
  const replacing = keyColumns.length === 0 ? facts.engine : `${facts.engine}(${keyColumns.join(", ")})`;
  expect(table).toMatchObject({
    sorting_key: facts.orderBy.join(", "),
    partition_key: facts.partitionBy ?? "",
    engine_full: expect.stringContaining(`${replacing} `) as string,
  });
  const types = table?.columns ?? {};
  const versions = Object.keys(types).filter((column) => types[column] === "UInt64" && column.endsWith("version"));
  if (facts.versionColumn === null) expect(versions).toEqual([]);
  else expect(types).toMatchObject({ [facts.versionColumn]: "UInt64" });
  if (facts.deletedColumn !== undefined) expect(types).toMatchObject({ [facts.deletedColumn]: "UInt8" });
  if (facts.compacted) expect(types).toMatchObject({ project_id: expect.any(String) as string, id: "String" });
  const ttl = / TTL (\w+)/.exec(table?.engine_full ?? "")?.[1];
  expect(ttl).toBe(facts.ttlColumn);
});

test("what a project reads is found by the first column of the key", () => {
  const others = tableFacts.filter(([, { orderBy }]) => orderBy[0] !== "project_id").map(([name]) => name);
  expect(others).toEqual(["watermarks", "schema_migrations", "control_plane"]);
});

// With the engine's defaults a power loss takes every recent write, and broken parts keep it from starting again.
const durableSettings = [
  "fsync_after_insert = 1",
  "fsync_part_directory = 1",
  "min_rows_to_fsync_after_merge = 1",
  "max_suspicious_broken_parts = 1000000",
  "old_parts_lifetime = 60",
];

test.each(tableFacts)("%s is on disk before a write is acknowledged, as the engine itself has it", (name, facts) => {
  const { engine_full = "" } = tables.get(name) ?? {};
  const present = durableSettings.filter((setting) => engine_full.includes(setting));
  expect(present).toEqual(facts.durable ? durableSettings : []);
});

test("every read of a table with replaced rows states whether it includes them", () => {
  const names = tableFacts.filter(([, { final }]) => final).map(([name]) => name);
  const unsaid = new RegExp(`(?<!DELETE )\\b(FROM|JOIN) (${names.join("|")})\\b`);
  const root = join(import.meta.dirname, "..");
  const files = readdirSync(root, { recursive: true, encoding: "utf8" });
  const sources = files.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  expect(sources.length).toBeGreaterThan(50);
  expect(sources.filter((file) => unsaid.test(readFileSync(join(root, file), "utf8")))).toEqual([]);
});
