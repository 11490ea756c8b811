import { afterAll, expect, test } from "vitest";
import { testConnection } from "@heddle/embedded-clickhouse/testing";
import { completePart, newProject } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import { connectEngine } from "../engine/engine.js";
import { ddl } from "./ddl.js";
import { keepIdFilters } from "./id-filters.js";
import { tableFacts } from "../schema/schema.js";
import { catchUpStatements, migrate } from "./migrate.js";
import { allMigrations } from "./migrations.js";

const db = testDatabase();
const bootstrap = connectEngine(testConnection(), "default");
afterAll(async () => {
  await db.drop();
  await bootstrap.close();
});

const placement = { database: db.name };
const next = {
  version: allMigrations.length + 1,
  name: "next",
  statements: ["CREATE TABLE IF NOT EXISTS {DB}.next {OC} (x UInt8) ENGINE=MergeTree ORDER BY x"],
};

test("a database can be opened again and again, and a table that a power loss removed is created again", async () => {
  await (await db.open()).close();
  await db.engine.command({ sql: "DROP TABLE call_names" });
  await (await db.open()).close();
  expect(await db.engine.rows({ sql: "SELECT count() AS n FROM call_names" })).toEqual([{ n: "0" }]);
  const ledger = await db.engine.rows({ sql: "SELECT version, name FROM schema_migrations ORDER BY version" });
  const recorded = allMigrations.filter(({ isAddition }) => isAddition !== true);
  expect(ledger).toEqual(recorded.map(({ version, name }) => ({ version, name })));
});

test("a new database gets the tables that one has which took every step by itself", async () => {
  const other = testDatabase();
  const tablesOf = async ({ name }: { name: string }) => {
    const sql = `SELECT name, create_table_query AS ddl FROM system.tables WHERE database = '${name}' ORDER BY name`;
    const rows = await bootstrap.rows<{ name: string; ddl: string }>({ sql });
    return rows.map(({ name: table, ddl }) => [table, ddl.replaceAll(name, "")]);
  };
  try {
    await bootstrap.command({ sql: `CREATE DATABASE ${other.name}` });
    for (const { version } of allMigrations) {
      await migrate(bootstrap, { database: other.name }, allMigrations.slice(0, version));
    }
    await keepIdFilters(bootstrap, { database: other.name }, new Set());
    await (await db.open()).close();
    const createdTables = await tablesOf(db);
    expect(createdTables.filter(([name]) => name !== "control_plane")).toEqual(await tablesOf(other));
  } finally {
    await other.drop();
  }
});

test("the steps that databases carry already are as they were when they were released", async () => {
  const released = ["021643c3a28acdf8a62d9c9a9c63a4ec8a2b5119c23be966abcb28276880f956"];
  await (await db.open()).close();
  const ledger = await db.engine.rows<{ checksum: string }>({
    sql: "SELECT checksum FROM schema_migrations ORDER BY version",
  });
  expect(ledger.map(({ checksum }) => checksum).slice(0, released.length)).toEqual(released);
});

test("a program that does not know an addition works on, and one that comes later has its columns", async () => {
  const other = testDatabase();
  try {
    await (await other.open()).close();
    const addition = {
      version: allMigrations.length + 1,
      name: "addition",
      statements: ["ALTER TABLE {DB}.calls {OC} ADD COLUMN IF NOT EXISTS of_later String"],
      isAddition: true as const,
    };
    const newer = [...allMigrations, addition];
    const add = async () => await migrate(bootstrap, { database: other.name }, newer);
    await add();
    const columns = `SELECT name FROM system.columns WHERE database = '${other.name}' AND name = 'of_later'`;
    expect(await bootstrap.rows({ sql: columns })).toHaveLength(1);
    const [projectId, id] = [newProject(), "of-the-older-program"];
    const older = await other.open();
    await older.ingest([completePart({ project_id: projectId, id })]);
    expect((await older.calls.read({ project_id: projectId, id }))?.id).toBe(id);
    await older.close();
    // A power loss may take what was added last.
    await other.engine.command({ sql: "ALTER TABLE calls DROP COLUMN of_later" });
    await add();
    expect(await bootstrap.rows({ sql: columns })).toHaveLength(1);
    await expect(migrate(bootstrap, { database: other.name }, allMigrations.slice(0, 10))).resolves.toBeUndefined();
  } finally {
    await other.drop();
  }
}, 120_000);

test("a newer database is refused with one line", async () => {
  await migrate(bootstrap, placement, [...allMigrations, next]);
  await expect(db.open()).rejects.toThrow(
    `The tracing database "${db.name}" has schema version ${next.version}, this Heddle knows ${allMigrations.length}: start the version that wrote it, or a newer one`,
  );
});

test("a database of another build is refused with one line", async () => {
  const changed = { ...next, statements: [...next.statements, "SELECT 1"] };
  await expect(migrate(bootstrap, placement, [...allMigrations, changed])).rejects.toThrow(
    `The tracing database "${db.name}" was made by another build: its schema step ${next.version} ("next") is not ours`,
  );
});

test("a database that belongs to another control plane is refused with one line", async () => {
  const other = testDatabase();
  await (await other.open({ controlPlaneId: "mine" })).close();
  await expect(other.open({ controlPlaneId: "other" })).rejects.toThrow(
    `The tracing database "${other.name}" belongs to another Heddle (control plane mine): use a database of its own for this one`,
  );
  await (await other.open({ controlPlaneId: "mine" })).close();
  await other.drop();
});

test("on a cluster the tables are replicated", () => {
  const statements = allMigrations
    .flatMap((step) => step.statements)
    .map((text) => ddl(text, { database: "d", cluster: "c" }));
  for (const statement of statements) {
    expect(statement).toMatch(
      /^(CREATE TABLE IF NOT EXISTS d\.\w+ ON CLUSTER 'c' \(|ALTER TABLE d\.\w+ ON CLUSTER 'c' )/,
    );
    if (statement.startsWith("CREATE")) {
      expect(statement).toMatch(/ENGINE=Replicated\w*MergeTree/);
      expect(statement).toContain("fsync_after_insert=1");
      expect(statement).toContain("min_compressed_bytes_to_fsync_after_fetch=1");
    }
    expect(statement).not.toMatch(/\{[A-Z]+\}/);
  }
  expect(() => ddl("{DB}", { database: "x; DROP" })).toThrow(TypeError);
  const catchUp = catchUpStatements({ database: "d", cluster: "c" });
  expect(catchUp).toHaveLength(tableFacts.length);
  expect(catchUp).toContain("SYSTEM SYNC REPLICA d.calls LIGHTWEIGHT");
  expect(catchUpStatements({ database: "d" })).toEqual([]);
});
