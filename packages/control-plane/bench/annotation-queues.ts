/**
 * Annotation queues beside the bare statements that one would write against the same tables, in a queue of 100,000 items
 * of which half are finished. Medians of one run, on SQLite, and on Postgres with HEDDLE_TEST_POSTGRES_URL.
 *
 *   node --import tsx --conditions @heddle/source packages/control-plane/bench/annotation-queues.ts [--items 100000]
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { SqlValue } from "../src/database/database.js";
import { openControlPlane } from "../src/index.js";
import { openDatabase } from "../src/database/open-database.js";
import { postgresDatabases, postgresUrl } from "../test/postgres.js";

const itemCount = process.argv[2] === "--items" ? Number(process.argv[3]) : 100_000;
const rounds = 301;
const project = "acme/bench";

const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
await measure("SQLite", pathToFileURL(join(directory, "control.db")).href);
rmSync(directory, { recursive: true, force: true });
if (postgresUrl !== undefined) {
  const databases = postgresDatabases(postgresUrl);
  await measure("Postgres", await databases.make());
  await databases.drop();
}

async function measure(backEnd: string, url: string): Promise<void> {
  const plane = await openControlPlane({ url });
  const database = openDatabase(url);
  const queues = plane.annotationQueues;
  const queueId = randomUUID();
  const queue = {
    id: queueId,
    project_id: project,
    name: "bench",
    description: "",
    scorer_refs: [],
    created_by: "ann",
  };
  await queues.create(queue);
  const inQueue = { project_id: project, queue_id: queueId };
  for (let from = 0; from < itemCount; from += 1000) {
    const items = Array.from({ length: Math.min(1000, itemCount - from) }, (_, at) => ({
      id: randomUUID(),
      call_id: `call-${from + at}`,
      call_started_at: BigInt(from + at),
      call_ended_at: null,
      call_op_name: `op-${at % 10}`,
      call_trace_id: "trace",
    })).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    await queues.addItems({ ...inQueue, display_fields: ["inputs"], added_by: "ann", items });
    if (from >= itemCount / 2) continue;
    await database.run(
      `UPDATE annotation_queue_items SET annotation_state = 'completed', annotator_user_id = 'ann'
        WHERE project_id = $1 AND queue_id = $2 AND annotation_state = 'unstarted'`,
      [project, queueId],
    );
  }
  if (backEnd === "Postgres") await database.run("ANALYZE");
  const annotators: string[] = [];
  for (let n = 0; n < 2 * rounds; n++) annotators.push((await plane.users.ensure(`annotator ${n}`)).id);
  const results: Record<string, Record<string, string>> = {};
  const compare = async (
    name: string,
    ours: (n: number) => Promise<unknown>,
    bare: (n: number) => Promise<unknown>,
  ) => {
    const times = [ours, bare].map(() => [] as number[]);
    for (let n = 0; n < rounds; n++) {
      for (const [which, run] of [ours, bare].entries()) {
        const started = performance.now();
        await run(n);
        times[which]?.push(performance.now() - started);
      }
    }
    const [mine = 0, other = 0] = times.map((list) => list.toSorted((a, b) => a - b)[rounds >> 1] ?? 0);
    results[name] = { "ours ms": mine.toFixed(3), "bare ms": other.toFixed(3), factor: (mine / other).toFixed(2) };
  };

  const page = `SELECT * FROM annotation_queue_items WHERE project_id = $1 AND queue_id = $2`;
  const bareRows = async (sql: string, ...params: SqlValue[]) =>
    await database.rows(sql, [project, queueId, ...params]);
  await compare(
    "first page of 50",
    async () => await queues.queryItems({ ...inQueue, limit: 50 }),
    async () => await bareRows(`${page} ORDER BY created_at, id LIMIT 50`),
  );
  await compare(
    "page of 50 unstarted",
    async () => await queues.queryItems({ ...inQueue, limit: 50, filter: { annotation_states: ["unstarted"] } }),
    async () => await bareRows(`${page} AND annotation_state = 'unstarted' ORDER BY created_at, id LIMIT 50`),
  );
  await compare(
    "page of 50, latest calls first",
    async () =>
      await queues.queryItems({ ...inQueue, limit: 50, sort_by: [{ field: "call_started_at", direction: "desc" }] }),
    async () => await bareRows(`${page} ORDER BY call_started_at DESC, id LIMIT 50`),
  );
  await compare(
    "claim the next item",
    async (n) => await queues.claimNext({ ...inQueue, annotator_user_id: annotators[n] ?? "", lease_us: 600_000_000n }),
    async (n) => {
      const [now, annotator] = [BigInt(Date.now()) * 1000n, annotators[rounds + n] ?? ""];
      await database.transaction(async (open) => {
        const next = `${page} AND annotation_state BETWEEN 'unstarted' AND 'unstarted'
          ORDER BY annotation_state, created_at, id LIMIT 1`;
        const [row] = await open.rows(next, [project, queueId]);
        const id = row?.["id"] ?? null;
        await open.run(
          `INSERT INTO annotation_queue_progress (project_id, item_id, annotator_user_id, annotation_state, created_at,
            updated_at) VALUES ($1, $2, $3, 'in_progress', $4, $4)`,
          [project, id, annotator, now],
        );
        await open.run(
          `UPDATE annotation_queue_items SET annotation_state = 'in_progress', annotator_user_id = $2, updated_at = $3,
            claimed_by = $2, claimed_until = $4 WHERE id = $1`,
          [id, annotator, now, now + 600_000_000n],
        );
      });
    },
  );
  await compare(
    "counts of the queue",
    async () => await queues.stats(project, [queueId]),
    async () =>
      await bareRows("SELECT total_items, completed_items FROM annotation_queues WHERE project_id = $1 AND id = $2"),
  );
  console.log(`\n${backEnd}, ${itemCount} items, medians of ${rounds}`);
  console.table(results);
  await database.close();
  await plane.close();
}
