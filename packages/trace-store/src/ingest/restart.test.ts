import { afterAll, expect, test } from "vitest";
import { newId } from "@heddle/trace-model";
import { completePart, endPart, newProject, nowUs, openSides, startPart, visibleCalls } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";

const db = testDatabase();
afterAll(() => db.drop());

const hour = 3_600_000_000n;

test("after a restart everything that is sent again is still one call", async () => {
  const before = await db.open();
  const projectId = newProject();
  const [id, early, old] = [newId(), newId(), "0123456789abcdef"];
  const batch = [
    completePart({ project_id: projectId }),
    completePart({ project_id: projectId, started_at: nowUs() - 1000n * hour }),
    completePart({ project_id: projectId, started_at: nowUs() + 1000n * hour }),
    startPart({ project_id: projectId, id: old, started_at: nowUs() - 2n * hour }),
    endPart({ project_id: projectId, id: old }),
    startPart({ project_id: projectId, id }),
    endPart({ project_id: projectId, id: early }),
  ];
  await before.ingest(batch);
  await before.close();

  const after = await db.open();
  await after.ingest(batch);
  expect(await visibleCalls(db.engine, projectId)).toHaveLength(5);
  await after.ingest([endPart({ project_id: projectId, id }), startPart({ project_id: projectId, id: early })]);
  await after.ingest(batch.slice(0, 5));
  // A second end of a call that memory no longer holds, known by its id alone.
  await after.ingest([endPart({ project_id: projectId, id: old, output: '"second"' })]);
  const calls = await visibleCalls(db.engine, projectId);
  expect(calls).toHaveLength(6);
  expect(calls.every(({ running }) => running === 0)).toBe(true);
  expect(calls.find((call) => call.id === old)?.output).toBe('"second"');
  expect(await openSides(db.engine, projectId)).toEqual([]);
  await after.close();
});

test("a restart completes what a crash left: both sides open, a complete call with an open side, two versions", async () => {
  const before = await db.open();
  const projectId = newProject();
  const [both, open, twice, late] = [newId(), newId(), newId(), newId()];
  const start = startPart({ project_id: projectId, id: both });
  await before.ingest([start, startPart({ project_id: projectId, id: open })]);
  await before.ingest([
    completePart({ project_id: projectId, id: twice }),
    completePart({ project_id: projectId, id: late }),
  ]);
  await before.close();
  // The rows of a crash, made by a second store that does not see what the first one wrote.
  const columns = async (table: string) =>
    (
      await db.engine.rows<{ name: string }>({
        sql: `SELECT name FROM system.columns WHERE database = '${db.name}' AND table = '${table}' AND default_kind NOT IN ('ALIAS', 'MATERIALIZED')`,
      })
    ).map(({ name }) => `\`${name}\``);
  const copy = async (table: string, id: string, changes: Record<string, string>) => {
    const names = await columns(table);
    const values = names.map((name) => changes[name.slice(1, -1)] ?? name).join(", ");
    await db.engine.command({
      sql: `INSERT INTO ${table} (${names.join(", ")}) SELECT ${values} FROM ${table} WHERE id = '${id}' AND project_id = '${projectId}'`,
    });
  };
  const end = { part: "'end'", ended_at: "started_at + 1", version: "version + 1000000" };
  await copy("call_parts", both, { ...end, id: `'${late}'`, output: "'\"late\"'" });
  await copy("call_parts", both, { part: "'end'", ended_at: "started_at + 1", output: "'3'" });
  await copy("calls", twice, { id: `'${open}'` });
  await copy("calls", twice, { version: "version + 1", started_at: "started_at + 1", output: "'\"newer\"'" });

  // Hours later.
  const after = await db.open({ now: () => nowUs() + 5n * hour });
  const calls = await visibleCalls(db.engine, projectId);
  expect(calls).toHaveLength(4);
  expect(calls.find(({ id }) => id === late)).toMatchObject({ output: '"late"' });
  expect(calls.find(({ id }) => id === both)).toMatchObject({ running: 0, output: "3" });
  expect(calls.find(({ id }) => id === twice)).toMatchObject({ output: '"newer"' });
  expect(await openSides(db.engine, projectId)).toEqual([]);
  await after.close();
});

test("after a restart a call that is sent again with another start time is one call", async () => {
  const projectId = newProject();
  const long = nowUs() - 50n * hour;
  const dated = newId(Number(long / 1000n));
  const calls = [
    { id: newId(), from: nowUs() - hour, to: nowUs() - 2n * hour },
    { id: "fedcba9876543210", from: long, to: long - hour },
    { id: dated, from: long, to: nowUs() },
  ];
  const before = await db.open();
  await before.ingest(calls.map(({ id, from }) => completePart({ project_id: projectId, id, started_at: from })));
  await before.close();
  const after = await db.open();
  await after.ingest(calls.map(({ id, to }) => startPart({ project_id: projectId, id, started_at: to })));
  expect(await visibleCalls(db.engine, projectId)).toHaveLength(3);
  const undated = "00000000000000aa";
  await after.ingest([completePart({ project_id: projectId, id: undated, started_at: long })]);
  await after.ingest([completePart({ project_id: projectId, id: undated, started_at: nowUs() })]);
  await after.maintain();
  expect(await visibleCalls(db.engine, projectId)).toHaveLength(4);
  await after.close();
});

test("a call that moved and is sent again as it was at first is the one that was sent last", async () => {
  const projectId = newProject();
  const id = "a1b2c3d4e5f60718";
  const first = completePart({ project_id: projectId, id, started_at: nowUs() - 50n * hour });
  const before = await db.open();
  await before.ingest([first]);
  await before.ingest([completePart({ project_id: projectId, id, started_at: nowUs() - 60n * hour })]);
  await before.close();
  const after = await db.open();
  await after.ingest([first]);
  await after.maintain();
  const seen = await visibleCalls(db.engine, projectId);
  expect(seen.map(({ us }) => us)).toEqual([first.part === "complete" ? String(first.start.started_at) : ""]);
  await after.close();
});

test("versions go on after the greatest one, even when the clock moved backwards", async () => {
  const ahead = await db.open({ now: () => nowUs() + 10n * hour });
  const projectId = newProject();
  const id = newId();
  await ahead.ingest([completePart({ project_id: projectId, id })]);
  await ahead.close();
  const behind = await db.open();
  await behind.ingest([endPart({ project_id: projectId, id, output: '"newest"' })]);
  const rows = await db.engine.rows<{ output: string }>({
    sql: `SELECT output FROM calls WHERE project_id = '${projectId}' ORDER BY version DESC LIMIT 1`,
  });
  expect(rows).toEqual([{ output: '"newest"' }]);
  expect(await visibleCalls(db.engine, projectId)).toHaveLength(1);
  await behind.close();
});

test("memory is bounded: what was forgotten is looked up", async () => {
  const small = await db.open({ limits: { knownCallBytes: 500, openSideCacheBytes: 2000 } });
  const projectId = newProject();
  const parts = Array.from({ length: 100 }, (_, index) =>
    completePart({ project_id: projectId, started_at: nowUs() + BigInt(index) * 10n }),
  );
  const ids = Array.from({ length: 30 }, () => newId());
  for (let from = 0; from < 100; from += 20) await small.ingest(parts.slice(from, from + 20));
  await small.ingest(ids.map((id) => startPart({ project_id: projectId, id })));
  await small.ingest(parts);
  await small.ingest(ids.map((id) => endPart({ project_id: projectId, id })));
  const calls = await visibleCalls(db.engine, projectId);
  expect(calls).toHaveLength(130);
  expect(calls.every(({ running }) => running === 0)).toBe(true);
  await small.close();
});
