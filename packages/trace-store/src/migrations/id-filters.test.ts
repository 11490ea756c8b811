import { testConnection } from "@heddle/embedded-clickhouse/testing";
import { newId } from "@heddle/trace-model";
import { afterAll, expect, test } from "vitest";
import { completePart, newProject } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import { connectEngine } from "../engine/engine.js";
import { migrate } from "./migrate.js";

const db = testDatabase();
const bootstrap = connectEngine(testConnection(), "default");
afterAll(async () => {
  await db.drop();
  await bootstrap.close();
});

const filters = async () =>
  (
    await db.engine.rows<{ name: string }>({
      sql: "SELECT name FROM system.data_skipping_indices WHERE database = currentDatabase() AND table = 'calls' AND type = 'bloom_filter' ORDER BY name",
    })
  )
    .map(({ name }) => name)
    .filter((name) => /_(id|trace|parent|thread)$/.test(name));

const fine = ["f_id", "f_parent", "f_thread", "f_trace"];
const former = ["i_id", "i_parent", "i_thread", "i_trace"];

test("a store of before gets finer filters of ids, for what it has as well, and loses the former ones once that is done", async () => {
  await bootstrap.command({ sql: `CREATE DATABASE ${db.name}` });
  await migrate(bootstrap, { database: db.name });
  expect(await filters()).toEqual(former);
  const projectId = newProject();
  const id = newId();
  const columns = "project_id, id, trace_id, parent_id, thread_id, started_at, version";
  await db.engine.command({
    sql: `INSERT INTO calls (${columns}) SELECT '${projectId}', if(number = 0, '${id}', generateUUIDv4()), 't', 'p', 'h', now64(6), number
      FROM numbers(3000)`,
  });
  const first = await db.open();
  // The former ones are there until what is stored has the others, as the next start sees.
  expect(await filters()).toEqual(expect.arrayContaining(fine));
  expect(await first.calls.read({ project_id: projectId, id })).toBeDefined();
  await first.close();
  const waiting = "SELECT count() AS n FROM system.mutations WHERE database = currentDatabase() AND NOT is_done";
  await expect.poll(async () => await db.engine.rows({ sql: waiting })).toEqual([{ n: "0" }]);

  const second = await db.open();
  expect(await filters()).toEqual(fine);
  expect(await second.calls.read({ project_id: projectId, id })).toBeDefined();
  const plan = await db.engine.rows<{ explain: string }>({
    sql: `EXPLAIN indexes = 1 SELECT version FROM calls WHERE project_id = '${projectId}' AND trace_id = 'none'`,
  });
  const lines = plan.map(({ explain }) => explain.trim());
  expect(lines.slice(lines.indexOf("Name: f_trace"))).toContain("Parts: 0/1");
});

test("a new store has them alone", async () => {
  const other = testDatabase();
  try {
    const store = await other.open();
    await store.ingest([completePart({ project_id: newProject() })]);
    const rows = await other.engine.rows<{ name: string }>({
      sql: "SELECT name FROM system.data_skipping_indices WHERE database = currentDatabase() AND table = 'calls'",
    });
    const names = rows.map(({ name }) => name);
    expect(names.filter((name) => [...fine, ...former].includes(name)).toSorted()).toEqual(fine);
  } finally {
    await other.drop();
  }
});
