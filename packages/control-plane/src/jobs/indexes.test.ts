import { expect, onTestFinished, test } from "vitest";
import type { SqlValue, Statements } from "../database.js";
import { migrate } from "../migrate.js";
import { jobs as jobsMigration } from "../migrations/0004-jobs.js";
import { openSqlite } from "../sqlite.js";
import { openJobs } from "./jobs.js";

test("ended jobs are not read to find the next one", async () => {
  const database = openSqlite(":memory:");
  onTestFinished(async () => await database.close());
  await migrate(database, [jobsMigration], () => 0n);
  const sent: Array<[string, readonly SqlValue[]]> = [];
  const recorded = (statements: Statements): Statements => ({
    rows: async (sql, params = []) => {
      sent.push([sql, params]);
      return await statements.rows(sql, params);
    },
    run: async (sql, params) => await statements.run(sql, params),
  });
  const jobs = openJobs(
    {
      ...recorded(database),
      transaction: async (inside) =>
        await database.transaction(async (statements) => await inside(recorded(statements))),
      close: async () => {},
    },
    () => 1n,
  );
  await jobs.add({ id: "job", project_id: "acme/demo", kind: "evaluate", payload: "{}" });
  sent.splice(0);
  await jobs.claim({ kinds: ["evaluate", "train"], lease_us: 1n });
  await jobs.nextDue(["evaluate"]);
  const plans: string[] = [];
  for (const [sql, params] of sent) {
    const steps = await database.rows(`EXPLAIN QUERY PLAN ${sql}`, params);
    plans.push(...steps.map((step) => String(step["detail"])));
  }
  expect(plans.length).toBeGreaterThan(4);
  const reads = plans.filter((plan) => /^(SCAN|SEARCH) (jobs|j|r|c|s|earlier)\b/.test(plan));
  expect(reads.length).toBeGreaterThan(4);
  for (const read of reads) expect(read).toMatch(/INDEX (jobs_|sqlite_autoindex_jobs_1)|^SEARCH c /);
  for (const read of reads) if (read.startsWith("SCAN")) expect(read).toMatch(/INDEX jobs_(queued|running)/);
});
