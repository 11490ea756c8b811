import { expect, test } from "vitest";
import { openRecorded } from "../../test/recorded-plans.js";
import { foundation } from "../migrations/0001-foundation.js";
import { jobs as jobsMigration } from "../migrations/0004-jobs.js";
import { jobTurns } from "../migrations/0009-job-turns.js";
import { jobBeats } from "../migrations/0020-job-beats.js";
import { openJobs } from "./jobs.js";

const addedBy = { key_id: "ann", entity: "acme" };
const job = { kind: "evaluate", payload: "{}", added_by: addedBy };

test("neither ended jobs nor those behind the next one are read to add, claim, give back, end and count jobs", async () => {
  const recorded = await openRecorded([foundation, jobsMigration, jobTurns, jobBeats]);
  const jobs = openJobs(recorded.database, { now: () => 1n, waitingPerKey: 1000 });
  recorded.clear();
  for (const id of ["job", "other"]) await jobs.add({ ...job, id, project_id: "acme/demo", serial_key: "model" });
  const request = { kinds: ["evaluate", "train"], lease_us: 9n };
  const held = await jobs.claim({ ...request, full: { entities: ["none"], keys: [] } });
  if (held === undefined) throw new Error("no job to claim");
  await jobs.waiting(request);
  await jobs.claimCancelled(request);
  await jobs.renew(held, held.progress);
  await jobs.giveBack(held, { delay_us: 0n, counted: false });
  const again = await jobs.claim(request);
  await jobs.finish(again ?? held, "succeeded");
  await jobs.cancel("acme/demo", ["other"]);
  await jobs.msToNextDue(request);
  await jobs.active();
  const statements = await recorded.plans();
  const plans = statements.flat();
  expect(plans.length).toBeGreaterThan(40);
  const reads = plans.filter((plan) => /^(SCAN|SEARCH) (jobs|j|c)\b/.test(plan));
  expect(reads.length).toBeGreaterThan(30);
  for (const read of reads) expect(read).toMatch(/INDEX (jobs_|sqlite_autoindex_jobs_)/);
  // What runs is little; what waits is read whole to be counted by kind.
  for (const read of reads) if (read.startsWith("SCAN")) expect(read).toMatch(/INDEX jobs_(running|queued|delayed)/);
  const sorted = statements.map((steps) => steps.join("; ")).filter((steps) => steps.includes("TEMP B-TREE"));
  expect(sorted.filter((steps) => !steps.includes("INDEX jobs_running"))).toEqual([]);
  expect(plans.join("; ")).toContain("INDEX jobs_to_cancel (cancel_requested=? AND kind=?)");
});

test("a claim is as fast behind 100,000 jobs of one key in 10,000 projects, and another key is next", async () => {
  const recorded = await openRecorded([foundation, jobsMigration, jobTurns, jobBeats]);
  const { database } = recorded;
  await database.run(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
      INSERT INTO jobs (id, sequence, project_id, kind, payload, state, attempts, available_at, cancel_requested,
          progress_completed, created_at, pool, entity, key_id, turn)
        SELECT 'many-' || i, i, 'acme/p' || (i % 10000), 'evaluate', '{}', 'queued', 0, 0, 0, 0, 0, '', 'acme', 'ann',
          i / 10000 + 1 FROM n`,
  );
  await database.run(
    `INSERT INTO jobs (id, sequence, project_id, kind, payload, state, attempts, available_at, cancel_requested,
          progress_completed, created_at, pool, entity, key_id, turn, claimed_at)
        SELECT 'ended-' || id, sequence + 100000, project_id, kind, '{}', 'succeeded', 1, 0, 0, 0, 0, '', entity, key_id,
          1, 1 FROM jobs`,
  );
  let now = 1n;
  const jobs = openJobs(database, { now: () => now++ });
  await jobs.add({ ...job, id: "few", project_id: "acme/few", added_by: { key_id: "bob", entity: "acme" } });
  await jobs.add({ ...job, id: "same", project_id: "acme/p5" });
  const order: string[] = [];
  const began = performance.now();
  for (let n = 0; n < 100; n++) {
    const held = await jobs.claim({ kinds: ["evaluate"], lease_us: 1_000_000n });
    if (held === undefined) throw new Error("no job to claim");
    order.push(held.id);
    await jobs.giveBack(held, { delay_us: 0n, counted: false });
    if (held.id === "few") await jobs.cancel("acme/few", ["few"]);
  }
  // A scan of them takes 20 ms or more: 2 s and more for all.
  expect(performance.now() - began).toBeLessThan(1000);
  expect(order.slice(0, 4)).toEqual(["few", "many-0", "many-1", "many-2"]);
  expect(new Set(order).size).toBe(100);
}, 60_000);
