import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../test/store.js";
import { backupTables } from "./backup.js";
import { schema, tableFacts } from "./schema.js";

const db = testDatabase();
beforeAll(async () => await (await db.open()).close());
afterAll(() => db.drop());

test("a backup has every table once, also one without facts, and those that name rows of others first", async () => {
  await db.engine.command({ sql: "CREATE TABLE made_by_hand (x UInt8) ENGINE=MergeTree ORDER BY x" });
  const backups: string[] = [];
  const run = async (sql: string) => {
    if (!sql.startsWith("SELECT")) return backups.splice(Infinity, 0, sql);
    return (await db.engine.rows<{ name: string }>({ sql })).map(({ name }) => name);
  };
  const others = ["made_by_hand"];
  expect(await backupTables(run, "copy", db.name)).toBe(tableFacts.length + others.length);
  const phases = backups.map((sql) => [...sql.matchAll(/TABLE \w+\.(\w+)/g)].map(([, table = ""]) => table));
  expect(phases.flat()).toHaveLength(tableFacts.length + others.length);
  expect(new Set(phases.flat())).toEqual(new Set([...Object.keys(schema), ...others]));
  const pairs: Array<[names: string, named: string]> = [
    ["watermarks", "call_parts"],
    ["watermarks", "calls"],
    ["call_parts", "calls"],
    ["call_hidden", "calls"],
    ["call_names", "calls"],
    ["object_aliases", "objects"],
    ["object_tags", "objects"],
    ["tables", "table_rows"],
  ];
  const phaseOf = (table: string) => phases.findIndex((names) => names.includes(table));
  for (const [names, named] of pairs)
    expect({ names, earlier: phaseOf(names) < phaseOf(named) }).toEqual({ names, earlier: true });
});
