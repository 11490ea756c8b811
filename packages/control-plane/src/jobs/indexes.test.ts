import { expect, test } from "vitest";
import { openRecorded } from "../../test/recorded-plans.js";
import { jobs as jobsMigration } from "../migrations/0004-jobs.js";
import { openJobs } from "./jobs.js";

test("ended jobs are not read to find the next one, nor to count the others", async () => {
  const recorded = await openRecorded([jobsMigration]);
  const jobs = openJobs(recorded.database, () => 1n);
  await jobs.add({ id: "job", project_id: "acme/demo", kind: "evaluate", payload: "{}" });
  recorded.clear();
  await jobs.claim({ kinds: ["evaluate", "train"], lease_us: 1n });
  await jobs.nextDue(["evaluate"]);
  await jobs.active();
  const plans = (await recorded.plans()).flat();
  expect(plans.length).toBeGreaterThan(4);
  const reads = plans.filter((plan) => /^(SCAN|SEARCH) (jobs|j|r|c|s|earlier)\b/.test(plan));
  expect(reads.length).toBeGreaterThan(4);
  for (const read of reads) expect(read).toMatch(/INDEX (jobs_|sqlite_autoindex_jobs_1)|^SEARCH c /);
  for (const read of reads) if (read.startsWith("SCAN")) expect(read).toMatch(/INDEX jobs_(queued|running)/);
});
