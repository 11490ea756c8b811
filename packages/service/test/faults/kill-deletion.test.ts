import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openHeddle } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { killTargets } from "./kill-targets.js";
import { random } from "./random.js";
import { wire } from "./wire.js";
import type { Wire } from "./wire.js";

// One round in the suite; `pnpm faults` runs ten.
const rounds = Math.min(Number(process.env["FAULT_ROUNDS"] ?? 1), 10);
const seed = Number(process.env["FAULT_SEED"] ?? 4680);

let heddle: HeddleProcess;
beforeAll(async () => {
  heddle = await openHeddle();
}, 60_000);
afterAll(() => heddle.remove());

test.each(Object.keys(killTargets))(
  "a deletion of a project is finished after kill -9 of %s, and another project keeps everything",
  async (target) => {
    const next = random(seed);
    const client = wire(heddle.url);
    const other = `faults/kept-${Object.keys(killTargets).indexOf(target)}`;
    await fill(client, other);
    const kept = await statsOf(client, other);
    let interrupted = 0;
    for (let round = 1; round <= rounds; round++) {
      const name = `deleted-${Object.keys(killTargets).indexOf(target)}-${round}`;
      const projectId = `faults/${name}`;
      await fill(client, projectId);
      const deletion = client.post("/project/delete", { project_id: projectId, expected_name: name });
      await delay(next() * 60);
      await killTargets[target]?.(heddle);
      if ((await deletion).status !== 200) interrupted += 1;
      // One that was not recorded before the kill has not begun.
      await until(async () => {
        const { status } = await client.post("/project/delete", { project_id: projectId, expected_name: name });
        return status === 200 || status === 404;
      });
      expect(await statsOf(client, projectId)).toMatchObject({
        call_count: 0,
        object_version_count: 0,
        table_row_count: 0,
      });
      expect(await client.rows("/calls/stream_query", { project_id: projectId })).toEqual([]);
      // Its name is free, and so are the ids of its calls.
      await fill(client, projectId);
      expect(await statsOf(client, projectId)).toMatchObject({ call_count: 200, object_version_count: 1 });
      expect(await statsOf(client, other)).toEqual(kept);
    }
    console.log(`${target}: ${rounds} rounds, seed ${seed}, ${interrupted} deletions were interrupted`);
  },
  60_000 + rounds * 60_000,
);

/** Calls that ended and that run, feedback, an object and a table. */
async function fill(client: Wire, projectId: string): Promise<void> {
  const started = "2026-04-10T09:00:00Z";
  const batch = Array.from({ length: 200 }, (_, n) => ({
    mode: "start",
    req: {
      start: {
        project_id: projectId,
        id: `c${n}`,
        trace_id: "t",
        op_name: "op",
        started_at: started,
        attributes: {},
        inputs: {},
      },
    },
  }));
  await client.ask("/call/upsert_batch", { batch });
  const end = { project_id: projectId, id: "c1", ended_at: started, summary: {} };
  await client.ask("/call/end", { end });
  const ref = `weave:///${projectId}/call/c1`;
  await client.ask("/feedback/create", {
    project_id: projectId,
    weave_ref: ref,
    feedback_type: "note",
    payload: { note: "n" },
  });
  await client.ask("/obj/create", { obj: { project_id: projectId, object_id: "o", val: 1 } });
  await client.ask("/table/create", { table: { project_id: projectId, rows: [{ a: 1 }] } });
}

async function statsOf(client: Wire, projectId: string): Promise<object> {
  for (;;) {
    const { status, text } = await client.post("/project/stats", { project_id: projectId });
    if (status === 200) return JSON.parse(text) as object;
    // The service or its engine restarts.
    expect([0, 409, 503], text).toContain(status);
    await delay(50);
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(50);
}
