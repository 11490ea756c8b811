import { writeFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { HeddleError } from "@heddle/errors";
import { newId } from "@heddle/trace-model";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { completePart, endPart, newProject, nowUs, openSides, startPart, visibleCalls } from "../../test/call-parts.js";
import { readRows } from "../../test/read-rows.js";
import { recordedReads } from "../../test/recorded-reads.js";
import { testControlPlane, testDatabase } from "../../test/store.js";
import type { TestDatabase } from "../../test/store.js";
import { writerName } from "./writer-name.js";
import type { Engine } from "../engine/engine.js";
import { idKey } from "../schema/id-key.js";
import type { TraceStore } from "../store.js";

const databases: TestDatabase[] = [];
let db: TestDatabase;
beforeEach(() => {
  db = testDatabase();
  databases.push(db);
});
afterAll(async () => {
  for (const one of databases) await one.drop();
});

const day = 86_400_000_000n;

/** Old calls of many projects, which the engine makes. */
async function fill(calls: number, days = 28n): Promise<void> {
  const first = nowUs() - (days + 2n) * day;
  const step = (days * day) / BigInt(calls);
  await db.engine.command({
    sql: `INSERT INTO calls (project_id, id, trace_id, op_name, started_at, ended_at, attributes, inputs, output, summary, version)
      SELECT concat('old/', toString(number % 5)), lower(hex(cityHash64(number))) AS id, id, 'op', fromUnixTimestamp64Micro(toInt64(${first} + number * ${step})) AS started_at,
        started_at, '{}', '{}', 'null', '{}', ${first} + number * ${step} FROM numbers(${calls})`,
  });
}

async function watermarks(): Promise<Record<string, string>> {
  const rows = await db.engine.rows<{ name: string; value: string }>({
    sql: "SELECT name, value FROM watermarks FINAL",
  });
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

async function setWatermark(name: string, value: bigint): Promise<void> {
  await db.engine.command({ sql: `INSERT INTO watermarks VALUES ('${name}', ${value}, ${nowUs() * 2n})` });
}

/** A running call, a complete one, and one that was deleted. */
async function someCalls(store: TraceStore) {
  const projectId = newProject();
  const [running, complete, deleted] = ["0a0a0a0a0a0a0a0a", newId(), newId()];
  await store.ingest([
    startPart({ project_id: projectId, id: running }),
    completePart({ project_id: projectId, id: complete }),
    completePart({ project_id: projectId, id: deleted }),
  ]);
  await store.calls.delete(projectId, [deleted], "user");
  return { projectId, running, complete, deleted };
}

/** An engine whose process ends before an insert, counted from 0, or right after it. */
function dyingEngine(at: number, afterIt: boolean) {
  const self = {
    inserts: 0,
    armed: false,
    wrap: (engine: Engine): Engine => ({
      ...engine,
      insert: async (table, columns, rows) => {
        const mine = self.armed ? self.inserts++ : -1;
        if (mine > at || (mine === at && !afterIt)) throw new HeddleError("busy", "the process has ended");
        await engine.insert(table, columns, rows);
        if (mine === at) throw new HeddleError("busy", "the process has ended");
      },
      command: async (statement, options) => {
        if (self.armed && self.inserts > at) throw new HeddleError("busy", "the process has ended");
        await engine.command(statement, options);
      },
    }),
  };
  return self;
}

test("a start, and one after a kill, read what is new, however much is stored", async () => {
  await (await db.open()).close();
  await fill(100_000);
  const first = await db.open();
  await first.maintain();
  const { projectId } = await someCalls(first);
  await first.maintain();
  const reads = recordedReads();
  const most = async () => {
    const statements = reads.sent.filter(({ sql }) => !sql.includes("system."));
    const rows = await readRows(db.name, statements);
    expect(rows.length).toBeGreaterThan(4);
    return rows.filter((one) => one.rows > 30_000);
  };
  // The first store is as if it were killed: nothing of it is closed.
  const killed = await db.open({ wrapEngine: reads.wrap });
  expect(await most()).toEqual([]);
  reads.reset();
  await killed.ingest([completePart({ project_id: projectId, id: "00000000000000ff" })]);
  await killed.maintain();
  expect(await most()).toEqual([]);
  reads.reset();
  await killed.calls.read({ project_id: "old/1", id: "no such call" });
  const [lookUp, ...readBack] = await readRows(
    db.name,
    reads.sent.toSorted((a, b) => a.sql.length - b.sql.length),
  );
  expect(lookUp?.rows).toBeLessThan(5000);
  expect(readBack.filter(({ rows }) => rows > 30_000)).toEqual([]);
  await killed.close();
  reads.reset();
  await db.open({ wrapEngine: reads.wrap });
  expect(await most()).toEqual([]);
}, 120_000);

test("a call that was stored long ago and is sent again with another start is one call, and was found by its id", async () => {
  await (await db.open()).close();
  await fill(50_000);
  const store = await db.open();
  await store.maintain();
  const [old] = await db.engine.rows<{ id: string }>({
    sql: "SELECT id FROM calls WHERE project_id = 'old/3' LIMIT 1",
  });
  const id = old?.id ?? "";
  await store.ingest([completePart({ project_id: "old/3", id }, { output: '"again"' })]);
  const reads = recordedReads();
  await store.maintain();
  expect(reads.sent).toEqual([]);
  const seen = (await visibleCalls(db.engine, "old/3")).filter((call) => call.id === id);
  expect(seen.map(({ output }) => output)).toEqual(['"again"']);
});

describe("a process that ends between any two inserts", () => {
  const cases = Array.from({ length: 9 }, (_, at) => [false, true].map((after) => ({ at, after }))).flat();

  test.each(cases)("leaves what the next start makes whole: insert $at, after it: $after", async ({ at, after }) => {
    const engine = dyingEngine(at, after);
    const dying = await db.open({ wrapEngine: engine.wrap });
    const { projectId, running, complete, deleted } = await someCalls(dying);
    const [moved, early, fresh, gone] = ["0b0b0b0b0b0b0b0b", newId(), newId(), newId()];
    const old = completePart({ project_id: projectId, id: moved, started_at: nowUs() - 3n * day });
    const parent = completePart({ project_id: projectId, id: gone });
    await dying.ingest([old, parent, endPart({ project_id: projectId, id: early })]);
    engine.armed = true;
    const parts = [
      endPart({ project_id: projectId, id: running }),
      endPart({ project_id: projectId, id: complete, output: '"newer"' }),
      completePart({ project_id: projectId, id: moved, started_at: nowUs() - 2n * day }),
      startPart({ project_id: projectId, id: early }),
      startPart({ project_id: projectId, id: fresh }),
    ];
    const work = [
      () => dying.ingest(parts),
      () => dying.calls.rename(projectId, complete, "named"),
      () => dying.calls.delete(projectId, [gone, fresh], "user"),
      () => dying.ingest([endPart({ project_id: projectId, id: complete, output: '"newest"' })]),
    ];
    let acknowledged = 0;
    for (const write of work) {
      if (
        !(await write()
          .then(() => true)
          .catch(() => false))
      )
        break;
      acknowledged++;
    }
    const next = await db.open();
    // As clients do with what was not acknowledged, and some with what was.
    if (acknowledged < 1) await next.ingest(parts);
    await next.ingest([endPart({ project_id: projectId, id: deleted })]);
    const seen = await visibleCalls(db.engine, projectId);
    const ids = seen.map(({ id }) => id).toSorted();
    const kept = [running, complete, moved, early];
    const mayBeGone = new Set([gone, fresh]);
    expect(ids.filter((id) => !mayBeGone.has(id))).toEqual(kept.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    if (acknowledged >= 3) expect(ids.filter((id) => mayBeGone.has(id))).toEqual([]);
    const output = seen.find(({ id }) => id === complete)?.output;
    expect(acknowledged >= 4 ? ['"newest"'] : ['"newer"', '"newest"']).toContain(output);
    expect(await openSides(db.engine, projectId)).toEqual(ids.includes(fresh) ? [{ id: fresh, part: "start" }] : []);
    const listed = [];
    for (const id of ids) listed.push((await next.calls.read({ project_id: projectId, id }))?.id);
    expect(listed).toEqual(ids);
  });
});

describe("a watermark that does not fit the data", () => {
  /** A crash between the complete row and the closing of its start, and one before an old version is hidden. */
  async function crash() {
    const engine = dyingEngine(0, true);
    const dying = await db.open({ wrapEngine: engine.wrap });
    const calls = await someCalls(dying);
    await dying.maintain();
    engine.armed = true;
    const { projectId, running, complete } = calls;
    const parts = [
      endPart({ project_id: projectId, id: running }),
      endPart({ project_id: projectId, id: complete, output: "2" }),
    ];
    await expect(dying.ingest(parts)).rejects.toMatchObject({ code: "busy" });
    expect(await visibleCalls(db.engine, projectId)).toHaveLength(4);
    return calls;
  }

  async function expectWhole({ projectId, running, complete, deleted }: Awaited<ReturnType<typeof crash>>) {
    const store = await db.open();
    const expected = [running, complete].toSorted();
    const seen = await visibleCalls(db.engine, projectId);
    expect(seen.map(({ id }) => id).toSorted()).toEqual(expected);
    await store.ingest([endPart({ project_id: projectId, id: deleted })]);
    expect((await store.calls.read({ project_id: projectId, id: running }))?.id).toBe(running);
    expect(await store.calls.read({ project_id: projectId, id: deleted })).toBeUndefined();
    expect(await store.calls.count({ project_id: projectId })).toMatchObject({ count: 2 });
    await store.maintain(true);
    const { consistent, idsFrom } = await watermarks();
    expect(BigInt(consistent ?? 0)).toBeLessThan(nowUs() + day);
    expect(idsFrom).toBe(String(-(2n ** 62n)));
    const missing = await db.engine.rows({
      sql: `SELECT id FROM calls WHERE (project_id, ${idKey("id")}, started_at) NOT IN (SELECT project_id, id_key, started_at FROM call_ids)`,
    });
    expect(missing).toEqual([]);
  }

  test("is of no use when it is ahead", async () => {
    const calls = await crash();
    for (const name of ["consistent", "compacted", "named"]) await setWatermark(name, nowUs() + 100n * day);
    await expectWhole(calls);
  });

  test("costs reading when it is behind", async () => {
    const calls = await crash();
    for (const name of ["consistent", "compacted", "named"]) await setWatermark(name, 5n);
    await expectWhole(calls);
  });

  test.each(["consistent", "compacted", "named", "indexed", "idsLost"])(
    "is dropped when %s is negative",
    async (name) => {
      const calls = await crash();
      await setWatermark(name, -(2n ** 63n) + 1n);
      await expectWhole(calls);
    },
  );

  test("is dropped when it cannot be read, or makes no sense", async () => {
    const calls = await crash();
    await setWatermark("consistent", -(2n ** 63n) + 1n);
    await setWatermark("of another version", 1n);
    const [part] = await db.engine.rows<{ path: string }>({
      sql: `SELECT path FROM system.parts WHERE active AND database = '${db.name}' AND table = 'watermarks' ORDER BY name LIMIT 1`,
    });
    const file = join(part?.path ?? "", "data.bin");
    writeFileSync(file, Buffer.alloc(statSync(file).size, 7));
    await expectWhole(calls);
  });

  test("is missing in a store that an earlier version has written", async () => {
    const calls = await crash();
    await db.engine.command({ sql: "TRUNCATE TABLE watermarks" });
    await db.engine.command({ sql: "TRUNCATE TABLE call_ids" });
    await expectWhole(calls);
  });

  test("says nothing of ids when their table is another one", async () => {
    const calls = await crash();
    await db.engine.command({ sql: "DROP TABLE call_ids SYNC" });
    await expectWhole(calls);
  });
});

test("a store without ids of calls is filled in slices, tells so, and finds its calls meanwhile", async () => {
  await (await db.open()).close();
  await fill(1000);
  await db.engine.command({ sql: "TRUNCATE TABLE call_ids" });
  await db.engine.command({ sql: "TRUNCATE TABLE watermarks" });
  const progress: string[] = [];
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const store = await db.open({
    onProgress: (line) => progress.push(line),
    wrapEngine: (engine) => ({
      ...engine,
      command: async (statement, options) => {
        if (/INSERT INTO call_ids.*started_at >/s.test(statement.sql)) await held;
        await engine.command(statement, options);
      },
    }),
  });
  const [old] = await db.engine.rows<{ id: string }>({
    sql: "SELECT id FROM calls WHERE project_id = 'old/3' LIMIT 1",
  });
  const request = { project_id: "old/3", id: old?.id ?? "" };
  expect(await store.calls.read(request)).toMatchObject({ id: old?.id });
  release();
  await store.maintain();
  expect(progress.at(-1)).toContain("1000");
  expect(await store.calls.read(request)).toMatchObject({ id: old?.id });
  expect(await db.engine.rows({ sql: "SELECT count() AS n FROM call_ids FINAL" })).toEqual([{ n: "1000" }]);
});

test.each([{ afterIt: false }, { afterIt: true }])(
  "a filling that is killed twice goes on where it was (after a slice was stored: $afterIt)",
  async ({ afterIt }) => {
    await (await db.open()).close();
    await fill(900, 90n);
    await db.engine.command({ sql: "TRUNCATE TABLE call_ids" });
    await db.engine.command({ sql: "TRUNCATE TABLE watermarks" });
    const slices: string[] = [];
    /** Ends with a slice, before or after it is stored and before that is noted. */
    const life = async (at: number) => {
      let sent = 0;
      const store = await db.open({
        wrapEngine: (engine) => ({
          ...engine,
          command: async (statement, options) => {
            const isSlice = /INSERT INTO call_ids.*started_at >/s.test(statement.sql);
            if (isSlice) sent++;
            if (sent > at || (sent === at && !afterIt)) throw new HeddleError("busy", "the process has ended");
            await engine.command(statement, options);
            if (isSlice)
              slices.push(
                JSON.stringify(Object.values(statement.params?.values ?? {}), (_, value: unknown) =>
                  typeof value === "bigint" ? String(value) : value,
                ),
              );
            if (sent === at && isSlice) throw new HeddleError("busy", "the process has ended");
          },
          insert: async (table, columns, rows) => {
            if (sent >= at) throw new HeddleError("busy", "the process has ended");
            await engine.insert(table, columns, rows);
          },
        }),
      });
      await store.maintain().catch(() => {});
      return store;
    };
    const [old] = await db.engine.rows<{ id: string }>({
      sql: "SELECT id FROM calls WHERE project_id = 'old/3' ORDER BY started_at LIMIT 1",
    });
    const request = { project_id: "old/3", id: old?.id ?? "" };
    for (const at of [1, 2, Number.POSITIVE_INFINITY]) {
      const store = await life(at);
      expect(await store.calls.read(request)).toMatchObject({ id: old?.id });
      expect(await store.calls.count({ project_id: "old/3" })).toMatchObject({ count: 180 });
    }
    expect((await watermarks())["idsFrom"]).toBe(String(-(2n ** 62n)));
    expect(await db.engine.rows({ sql: "SELECT count() AS n FROM call_ids FINAL" })).toEqual([{ n: "900" }]);
    // Only what was stored and not noted is copied again.
    expect(slices.length - new Set(slices).size).toBeLessThanOrEqual(afterIt ? 2 : 0);
  },
);

test("an insert that this or the former writer has sent is ended before anything is written, and no other", async () => {
  const store = await db.open();
  const insert = async (name: string) => {
    const sql =
      "INSERT INTO function null('x UInt8') SELECT sleepEachRow(0.2) FROM numbers(30) SETTINGS max_block_size = 1";
    return await db.engine.command({ sql }, { settings: { log_comment: name } }).then(
      () => "ended by itself",
      () => "stopped",
    );
  };
  const [mine, other] = [insert(`${writerName(testControlPlane, db.name)}1`), insert("heddle-of-another-1")];
  const running = "SELECT count() AS n FROM system.processes WHERE startsWith(Settings['log_comment'], 'heddle-')";
  await expect.poll(async () => (await db.engine.rows<{ n: string }>({ sql: running }))[0]?.n).toBe("2");
  store.engineRestarted();
  await store.ingest([completePart({ project_id: newProject() })]);
  expect(await Promise.all([mine, other])).toEqual(["stopped", "ended by itself"]);
});

test("a backup whose tables are of different moments is consistent after it was restored", async () => {
  const source = db;
  const store = await source.open();
  const { projectId, running, complete } = await someCalls(store);
  await store.maintain();
  const restored = testDatabase();
  databases.push(restored);
  await (await restored.open()).close();
  const copy = async (tables: readonly string[]) => {
    for (const table of tables) {
      await restored.engine.command({ sql: `TRUNCATE TABLE ${table}` });
      await restored.engine.command({ sql: `INSERT INTO ${table} SELECT * FROM ${source.name}.${table}` });
    }
  };
  await copy(["watermarks", "call_parts", "call_hidden", "call_names"]);
  const later = newId();
  await store.ingest([
    endPart({ project_id: projectId, id: running }),
    endPart({ project_id: projectId, id: complete, output: "2" }),
    completePart({ project_id: projectId, id: later }),
  ]);
  await store.maintain(true);
  await store.ingest([endPart({ project_id: projectId, id: complete, output: "3" })]);
  await copy(["calls"]);
  db = restored;
  await restored.open();
  const seen = await visibleCalls(restored.engine, projectId);
  expect(seen).toHaveLength(3);
  expect(Object.fromEntries(seen.map(({ id, output }) => [id, output]))).toEqual({
    [running]: '"hello"',
    [complete]: "3",
    [later]: '"hello"',
  });
});
