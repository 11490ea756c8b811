/**
 * Feedback on calls: lists filtered and sorted by it, and pages that show it, through the store and beside what one
 * would write against the plain tables. Medians of one run, caches of filters off.
 *
 *   node --import tsx --conditions @heddle/source packages/trace-store/bench/feedback.ts [--calls 1000000]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import type { CallsQuery } from "../src/calls/calls.js";
import { connectEngine } from "../src/engine/engine.js";
import { openTraceStore } from "../src/store.js";

const callCount = process.argv[2] === "--calls" ? Number(process.argv[3]) : 100_000;
const rounds = 9;
const databaseName = "bench_feedback";
const benchProject = "acme/bench";
const fresh = { use_query_condition_cache: 0 } as const;

const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
const url = process.env["HEDDLE_CLICKHOUSE_URL"];
const host = url === undefined ? await startEngineHost({ directory }) : undefined;
const client = host?.connection() ?? { url };
const store = await openTraceStore({ client, database: databaseName, controlPlaneId: "bench" });
const engine = connectEngine(client, databaseName);

for (let from = 0; from < callCount; from += 10_000) await fill(from, Math.min(10_000, callCount - from));

const score = "feedback.[score].payload.output.value";
const where = (field: string, op: string, value: unknown): Partial<CallsQuery> => ({
  query: { $expr: { [op]: [{ $getField: field }, { $literal: value }] } },
});
const scored =
  "SELECT call_id, argMin(JSONExtractFloat(payload, 'output', 'value'), (created_at, id)) AS value FROM feedback FINAL WHERE project_id = 'acme/bench' AND type = 'score' GROUP BY call_id";
const callsOf = (ids: string) =>
  `SELECT * FROM calls WHERE project_id = '${benchProject}' AND id IN (${ids}) ORDER BY started_at DESC`;

const table: Record<string, Record<string, number | string>> = {};
await measure(
  "filter, common",
  { ...where(score, "$gt", 50), limit: 50 },
  `SELECT * FROM calls WHERE project_id = '${benchProject}' AND (started_at, id) IN (SELECT started_at, id FROM calls INNER JOIN (${scored}) AS f ON f.call_id = id WHERE project_id = '${benchProject}' AND value > 50 ORDER BY started_at DESC LIMIT 50)`,
);
await measure(
  "filter, rare",
  { ...where(score, "$gt", 99.99), limit: 50 },
  callsOf(`SELECT call_id FROM (${scored}) WHERE value > 99.99 LIMIT 50`),
);
await measure(
  "sort",
  { sort_by: [{ field: score, direction: "desc" }], limit: 50 },
  `SELECT * FROM calls WHERE project_id = '${benchProject}' AND (started_at, id) IN (SELECT started_at, id FROM calls LEFT JOIN (${scored}) AS f ON f.call_id = id WHERE project_id = '${benchProject}' ORDER BY value DESC LIMIT 50)`,
);
await measure(
  "filter by any reaction",
  { ...where("feedback.[wandb.reaction.1].payload.emoji", "$eq", "🎉"), limit: 50 },
  `SELECT * FROM calls WHERE project_id = '${benchProject}' AND (started_at, id) IN (SELECT started_at, id FROM calls WHERE project_id = '${benchProject}' AND id IN (SELECT call_id FROM feedback FINAL WHERE project_id = '${benchProject}' AND type = 'wandb.reaction.1' AND JSONExtractString(payload, 'emoji') = '🎉') ORDER BY started_at DESC LIMIT 50)`,
);
const ids = await engine.rows<{ id: string }>({
  sql: `SELECT id FROM calls WHERE project_id = '${benchProject}' ORDER BY started_at DESC LIMIT 100`,
});
const list = ids.map(({ id }) => `'${id}'`).join(",");
await measure("newest 100 without feedback", { limit: 100 }, [
  `SELECT * FROM calls WHERE project_id = '${benchProject}' ORDER BY started_at DESC LIMIT 100`,
]);
await measure("newest 100 with feedback", { include_feedback: true, limit: 100 }, [
  `SELECT * FROM calls WHERE project_id = '${benchProject}' ORDER BY started_at DESC LIMIT 100`,
  `SELECT * FROM feedback FINAL WHERE project_id = '${benchProject}' AND call_id IN (${list})`,
]);
console.log(`\n${callCount} calls, two pieces of feedback on every other one; ms`);
console.table(table);

await store.close();
await engine.command({ sql: `DROP DATABASE ${databaseName}` });
await engine.close();
await host?.close();
rmSync(directory, { recursive: true, force: true });

async function measure(name: string, request: Partial<CallsQuery>, plain: string | readonly string[]): Promise<void> {
  const times = { ours: [] as number[], plain: [] as number[] };
  let [ours, theirs] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    times.ours.push(
      await timed(async () => {
        ours = 0;
        const newest: CallsQuery["sort_by"] = [{ field: "started_at", direction: "desc" }];
        for await (const _ of store.calls.query({ project_id: benchProject, sort_by: newest, ...request })) ours++;
      }),
    );
    times.plain.push(
      await timed(async () => {
        for (const sql of [plain].flat()) theirs = (await engine.rows({ sql }, { settings: fresh })).length;
      }),
    );
  }
  const [a, b] = [median(times.ours), median(times.plain)];
  table[name] = { store: a, "plain tables": b, ratio: Math.round((a / b) * 100) / 100, calls: ours, rows: theirs };
}

async function fill(from: number, size: number): Promise<void> {
  const id = "concat('0199d3a4-0000-7000-8000-', lower(leftPad(hex(number), 12, '0')))";
  const started = "fromUnixTimestamp64Micro(toInt64(1775811600000000 + number * 1000000), 'UTC')";
  const text = "repeat(concat('word ', toString(cityHash64(number) % 100), ' '), 100)";
  await engine.command({
    sql: `INSERT INTO calls (project_id, id, trace_id, op_name, op_key, started_at, ended_at, latency_us, status, attributes, inputs, output, summary, size_bytes, version)
      SELECT '${benchProject}', ${id}, ${id}, 'op', 'op', ${started}, ${started}, 1000, 'success', '{}', concat('{"text":"', ${text}, '"}'), concat('{"text":"', ${text}, '"}'), '{}', 2000, number + 1
      FROM numbers(${from}, ${size})`,
  });
  const feedback = (type: string, payload: string, version: number) =>
    `INSERT INTO feedback (project_id, id, call_id, ref, type, created_at, payload, version)
      SELECT '${benchProject}', concat('${type}', toString(number)), ${id}, concat('weave:///${benchProject}/call/', ${id}), '${type}', ${started}, ${payload}, ${version}
      FROM numbers(${from}, ${size}) WHERE number % 2 = 0`;
  const value = "toString((cityHash64(number) % 1000000) / 10000)";
  await engine.command({ sql: feedback("score", `concat('{"output":{"value":', ${value}, '}}')`, 1) });
  await engine.command({
    sql: feedback("wandb.reaction.1", 'if(cityHash64(number) % 100 = 0, \'{"emoji":"🎉"}\', \'{"emoji":"👍"}\')', 1),
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return Math.round((values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN) * 10) / 10;
}
