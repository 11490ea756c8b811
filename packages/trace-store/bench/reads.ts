/**
 * Reads of calls: through the store, the same statements sent straight to the engine, and what one would write against
 * the plain table, without running, hidden, expired or renamed calls. Medians of one run, caches of filters off.
 *
 *   node --import tsx --conditions @heddle/source packages/trace-store/bench/reads.ts [--calls 1000000]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { newId } from "@heddle/trace-model";
import type { CallPart } from "@heddle/trace-model";
import type { CallsQuery } from "../src/calls/calls.js";
import { connectEngine } from "../src/engine/engine.js";
import type { Engine, Statement, StatementOptions, StatementSource } from "../src/engine/engine.js";
import { openTraceStore } from "../src/store.js";

const callCount = process.argv[2] === "--calls" ? Number(process.argv[3]) : 100_000;
const rounds = 15;
const databaseName = "bench_reads";
const benchProject = "acme/bench";
/** No call of it runs, was replaced or deleted. */
const settledProject = "acme/other";
const firstUs = BigInt(Date.now()) * 1000n - BigInt(callCount) * 1_000_000n;
const freshCalls = { use_query_condition_cache: 0 } as const;

const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
const url = process.env["HEDDLE_CLICKHOUSE_URL"];
const host = url === undefined ? await startEngineHost({ directory }) : undefined;
const client = host?.connection() ?? { url };
/** The statements of the read that is being measured. */
let sent: Array<{ statement: Statement; options: StatementOptions | undefined; kind: "rows" | "stream" }> = [];
const store = await openTraceStore({ client, database: databaseName, controlPlaneId: "bench", wrapEngine: recorded });
const engine = connectEngine(client, databaseName);

/** A call that was ingested; the others are made by the engine. */
let written = 0;
let remembered = "";
await fill();
const table: Record<string, Record<string, number | string>> = {};
await mergesEnd();
await measureAll();
console.log(`\n${callCount} calls of about 2 KB, 80 % in one project, 200 of it running, 50 replaced, 50 deleted; ms`);
console.table(table);
await measureStream();

await store.close();
await engine.command({ sql: `DROP DATABASE ${databaseName}` });
await engine.close();
await host?.close();
rmSync(directory, { recursive: true, force: true });

/** Merges of what was just written would be part of what is measured. */
async function mergesEnd(): Promise<void> {
  for (let idle = 0; idle < 3;) {
    const [row] = await engine.rows<{ merges: string }>({ sql: "SELECT count() AS merges FROM system.merges" });
    idle = row?.merges === "0" ? idle + 1 : 0;
    await delay(500);
  }
}

async function measureAll(): Promise<void> {
  const newest: CallsQuery["sort_by"] = [{ field: "started_at", direction: "desc" }];
  const list = (request: Partial<CallsQuery>) => async () => {
    for await (const _ of store.calls.query({ project_id: benchProject, sort_by: newest, limit: 50, ...request }))
      continue;
  };
  const where = (path: string, op: string, value: unknown) => ({
    query: { $expr: { [op]: [{ $getField: path }, { $literal: value }] } },
  });
  const plain = (condition = "1", order = "started_at DESC, id DESC", columns = "*", project = benchProject) =>
    `SELECT ${columns} FROM calls WHERE project_id = '${project}' AND ${condition} ORDER BY ${order} LIMIT 50`;
  const someOf = async (projectId: string) => {
    const [some] = await engine.rows<{ id: string; trace_id: string }>({
      sql: `SELECT id, trace_id FROM calls WHERE project_id = '${projectId}' ORDER BY cityHash64(id) LIMIT 1`,
    });
    if (some === undefined) throw new Error("nothing was stored");
    return some;
  };
  const some = await someOf(benchProject);
  const settled = await someOf(settledProject);
  const start = firstUs + (BigInt(callCount) * 1_000_000n) / 2n;
  const time = (us: bigint) => `fromUnixTimestamp64Micro(${us}, 'UTC')`;

  await measure("newest 50", list({}), plain());
  await measure(
    "newest 50, settled project",
    list({ project_id: settledProject }),
    plain("1", undefined, undefined, settledProject),
  );
  await measure(
    "newest 50, narrow",
    list({ columns: ["op_name", "parent_id"] }),
    plain("1", undefined, "id, op_name, started_at, parent_id"),
  );
  await measure("newest 50 at offset 500", list({ offset: 500 }), `${plain()} OFFSET 500`);
  await measure("by id", () => store.calls.read({ project_id: benchProject, id: some.id }), plain(`id = '${some.id}'`));
  await measure(
    "by id, remembered",
    () => store.calls.read({ project_id: benchProject, id: remembered }),
    plain(`id = '${remembered}'`),
  );
  await measure(
    "trace",
    list({ filter: { trace_ids: [some.trace_id] }, limit: undefined }),
    plain(`trace_id = '${some.trace_id}'`),
  );
  await measure(
    "trace, settled project",
    list({ project_id: settledProject, filter: { trace_ids: [settled.trace_id] }, limit: undefined }),
    plain(`trace_id = '${settled.trace_id}'`, undefined, undefined, settledProject),
  );
  await measure(
    "op",
    list({ filter: { op_names: ["weave:///acme/bench/op/op7:*"] } }),
    plain("op_key = 'weave:///acme/bench/op/op7'"),
  );
  await measure("errors", list(where("summary.weave.status", "$eq", "error")), plain("status = 'error'"));
  await measure(
    "an hour",
    list(where("started_at", "$lt", Number(start / 1_000_000n))),
    plain(`started_at < ${time(start)}`),
  );
  await measure("JSON, common", list(where("inputs.parity", "$eq", 1)), plain("JSONExtractInt(inputs, 'parity') = 1"));
  await measure("JSON, rare", list(where("inputs.rare", "$eq", 17)), plain("JSONExtractInt(inputs, 'rare') = 17"));
  await measure(
    "JSON, none",
    list(where("inputs.text", "$eq", "nowhere")),
    plain("JSONExtractString(inputs, 'text') = 'nowhere'"),
  );
  const contains = {
    query: { $expr: { $contains: { input: { $getField: "inputs.text" }, substr: { $literal: "nowhere" } } } },
  };
  await measure("contains, none", list(contains), plain("position(JSONExtractString(inputs, 'text'), 'nowhere') > 0"));
  await measure(
    "sort by JSON",
    list({ sort_by: [{ field: "inputs.rare", direction: "desc" }] }),
    plain("1", "JSONExtractFloat(inputs, 'rare') DESC"),
  );
  await measure(
    "sort by latency",
    list({ sort_by: [{ field: "summary.weave.latency_ms", direction: "desc" }] }),
    plain("1", "latency_us DESC"),
  );
  await measureSums("", benchProject);
  await measureSums(", settled project", settledProject);
  const ids = await engine.rows<{ id: string }>({
    sql: `SELECT id FROM calls WHERE project_id = '${benchProject}' ORDER BY cityHash64(id) LIMIT 500`,
  });
  const quoted = ids.map(({ id }) => `'${id}'`).join(",");
  await measure(
    "500 scattered ids",
    list({ filter: { call_ids: ids.map(({ id }) => id) }, columns: ["op_name"], limit: undefined }),
    `SELECT id, op_name FROM calls WHERE project_id = '${benchProject}' AND id IN (${quoted}) ORDER BY started_at DESC, id DESC`,
  );
  await store.maintain(true);
  await mergesEnd();
  await measure("newest 50, compacted", list({}), plain());
  await measureSums(", compacted", benchProject);
}

/** What adds up all calls of a project. */
async function measureSums(suffix: string, project: string): Promise<void> {
  const from = (table: string) => `FROM ${table} WHERE project_id = '${project}'`;
  await measure(`count${suffix}`, () => store.calls.count({ project_id: project }), `SELECT count() ${from("calls")}`);
  const sizes: Array<[table: string, bytes: string]> = [
    ["calls", "sum(size_bytes)"],
    ["objects", "sum(size_bytes)"],
    ["tables", "0"],
    ["table_rows", "sum(size_bytes)"],
    ["files", "sum(size_bytes)"],
    ["feedback", "0"],
  ];
  await measure(
    `project stats${suffix}`,
    () => store.projectStats({ project_id: project }),
    sizes.map(([name, bytes]) => `SELECT count(), ${bytes} ${from(name)}`).join(" UNION ALL "),
  );
  const range = { project_id: project, start: firstUs, granularity: 3600 };
  await measure(
    `stats per hour${suffix}`,
    () => store.calls.callStats({ ...range, call_metrics: [{ metric: "latency_ms", percentiles: [95] }] }),
    `SELECT toStartOfHour(started_at) AS hour, count(), sum(latency_us), quantileExactInclusive(0.95)(latency_us) ${from("calls")} GROUP BY hour`,
  );
  await measure(
    `usage per hour${suffix}`,
    () => store.calls.callStats({ ...range, usage_metrics: [{ metric: "total_tokens" }] }),
    `SELECT toStartOfHour(started_at) AS hour, model, sum(total)
      ${from("calls ARRAY JOIN `usage.model` AS model, `usage.total_tokens` AS total")} GROUP BY hour, model`,
  );
}

/** Ours, then the same statements again, then the plain one; round by round, so that all see the same machine. */
async function measure(name: string, ours: () => Promise<unknown>, plainSql: string): Promise<void> {
  const times = { ours: [] as number[], direct: [] as number[], plain: [] as number[] };
  let statements = 0;
  for (let round = 0; round < rounds; round++) {
    sent = [];
    times.ours.push(await timed(ours));
    const again = sent;
    statements = again.length;
    times.direct.push(await timed(() => repeat(again)));
    times.plain.push(await timed(() => engine.rows({ sql: plainSql }, { settings: freshCalls })));
  }
  const [a, b, c] = [median(times.ours), median(times.direct), median(times.plain)];
  table[name] = {
    store: rounded(a),
    "same statements": rounded(b),
    ratio: rounded(a / b),
    statements,
    "within 1.5 × + 2 ms": a <= 1.5 * b + 2 ? "yes" : "no",
    "plain table": rounded(c),
  };
}

async function measureStream(): Promise<void> {
  let [rows, peak] = [0, 0];
  const ms = await timed(async () => {
    for await (const _ of store.calls.query({ project_id: benchProject })) {
      if (++rows % 1000 === 0) peak = Math.max(peak, process.memoryUsage().rss);
    }
  });
  const direct = await timed(async () => {
    for await (const _ of engine.stream(
      { sql: `SELECT * FROM calls WHERE project_id = '${benchProject}' ORDER BY started_at, id` },
      { settings: freshCalls },
    ))
      continue;
  });
  console.log(
    `stream of ${rows} calls: ${Math.round((rows * 1000) / ms)} rows/s (plain table ${Math.round((rows * 1000) / direct)}), peak RSS ${Math.round(peak / 2 ** 20)} MB`,
  );
}

async function repeat(statements: typeof sent): Promise<void> {
  for (const { statement, options, kind } of statements) {
    if (kind === "rows") await engine.rows(statement, options);
    else for await (const _ of engine.stream(statement, options)) continue;
  }
}

function recorded(inner: Engine): Engine {
  const record = (kind: "rows" | "stream", source: StatementSource, options?: StatementOptions) => {
    const fresh = { ...options, settings: { ...options?.settings, ...freshCalls } };
    const statement = () => {
      const resolved = typeof source === "function" ? source() : source;
      sent.push({ statement: resolved, options: fresh, kind });
      return resolved;
    };
    return [statement, fresh] as const;
  };
  return {
    ...inner,
    rows: (source, options) => inner.rows(...record("rows", source, options)),
    stream: (source, options) => inner.stream(...record("stream", source, options)),
  };
}

/** Most rows are made by the engine; what only ingest can make goes through the store. */
async function fill(): Promise<void> {
  const block = 10_000;
  for (let from = 0; from < callCount; from += block) {
    await engine.command({ sql: rowsOf(from, Math.min(block, callCount - from)) });
  }
  const call = (id: string, note: string): CallPart[] => {
    const startedAt = BigInt(Date.now()) * 1000n - BigInt(written++ % 301) * 1700n;
    const start = {
      project_id: benchProject,
      id,
      trace_id: id,
      op_name: "late",
      started_at: startedAt,
      attributes: "{}",
      inputs: `{"note":"${note}"}`,
    };
    const end = { project_id: benchProject, id, ended_at: startedAt + 1000n, output: "1", summary: "{}" };
    return note === "running" ? [{ part: "start", start }] : [{ part: "complete", start, end }];
  };
  const ids = Array.from({ length: 301 }, () => newId());
  await store.ingest(ids.slice(0, 200).flatMap((id) => call(id, "running")));
  await store.ingest(ids.slice(200).flatMap((id) => call(id, "first")));
  await store.ingest(ids.slice(200, 250).flatMap((id) => call(id, "again")));
  await store.calls.delete(benchProject, ids.slice(250, 300), "bench");
  remembered = ids[300] ?? "";
}

function rowsOf(from: number, size: number): string {
  const ms = `(${firstUs / 1000n} + number * 1000)`;
  const hex = `lower(leftPad(hex(toUInt64(${ms})), 12, '0'))`;
  const id = `concat(substring(${hex}, 1, 8), '-', substring(${hex}, 9, 4), '-7000-8000-', lower(leftPad(hex(number), 12, '0')))`;
  const words =
    "arrayStringConcat(arrayMap(i -> ['trace','prompt','model','answer','token','context','search','result','user','agent','plan','step'][1 + (cityHash64(number, i) % 12)], range(150)), ' ')";
  const started = `fromUnixTimestamp64Micro(toInt64(${ms}) * 1000, 'UTC')`;
  return `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, op_key, started_at, ended_at, latency_us, status, attributes, inputs, output, summary, size_bytes,
    \`usage.model\`, \`usage.requests\`, \`usage.prompt_tokens\`, \`usage.completion_tokens\`, \`usage.total_tokens\`, \`usage.cache_read_tokens\`, \`usage.cache_creation_tokens\`, version)
    SELECT if(number % 5 = 0, '${settledProject}', '${benchProject}'), ${id}, concat('trace-', toString(intDiv(number, 6))), if(number % 6 = 0, '', 'parent'),
      concat('weave:///acme/bench/op/op', toString(number % 20), ':R2M3VnB8'), concat('weave:///acme/bench/op/op', toString(number % 20)),
      ${started}, ${started} + toIntervalMicrosecond(cityHash64(number) % 10000000), cityHash64(number) % 10000000, if(number % 50 = 0, 'error', 'success'),
      '{"weave":{"client_version":"0.52.0"}}', concat('{"parity":', toString(number % 2), ',"rare":', toString(number % 8000), ',"text":"', ${words}, '"}'),
      concat('{"answer":"', ${words}, '"}'), '{"usage":{"gpt-x":{"prompt_tokens":3}}}', 2000, ['gpt-x'], [1], [3], [4], [7], [0], [0], ${from + 1}
    FROM numbers(${from}, ${size})`;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
