/**
 * The outline of a trace of 32,843 calls beside reading its calls, figures about calls and searches beside what gave them before:
 * medians over HTTP of the built service, in turns. Then, once each, an export and what changes all calls that match.
 *
 *   pnpm bench --only aggregates [--calls 1000000] [--rounds 9] [--spans 32843]
 */
import { gzipSync } from "node:zlib";
import { describeMachine, median, option, short } from "./results.js";
import { startServiceProcess } from "./service-process.js";

const [calls, rounds, spans] = [option("calls", 100_000), option("rounds", 9), option("spans", 32_843)];
const [project, trace] = ["bench/aggregates", "4bf92f3577b34da6a3ce929d0e0e4736"];
const service = await startServiceProcess();
const firstUs = BigInt(Date.now()) * 1000n - BigInt(calls) * 1_000_000n;
const iso = (us: bigint) => new Date(Number(us / 1000n)).toISOString();
const [start, end] = [iso(firstUs), iso(firstUs + BigInt(calls) * 1_000_000n)];

interface Read {
  name: string;
  path: string;
  body: object;
}

const language = { $eq: [{ $getField: "inputs.lang" }, { $literal: "en" }] };
/** The words of a search may be in either. */
const contains = (word: string) => ({
  $or: ["inputs", "output"].map((name) => ({
    $contains: { input: { $getField: name }, substr: { $literal: word }, case_insensitive: true },
  })),
});
const hours = { start, end, buckets: Math.min(1000, Math.max(1, Math.ceil(calls / 3600) + 1)) };
const reads: Read[] = [
  { name: `outline of ${spans} calls`, path: "/trace/outline", body: { trace_id: trace } },
  { name: "with costs and sizes", path: "/trace/outline", body: { trace_id: trace, include: ["costs", "sizes"] } },
  { name: "before: all calls of the trace", path: "/calls/stream_query", body: { filter: { trace_ids: [trace] } } },
  { name: "usage of the trace", path: "/trace/usage", body: { filter: { trace_ids: [trace] } } },
  {
    name: "per hour by status",
    path: "/calls/aggregate",
    body: { time: hours, group_by: ["status"], metrics: ["count", "errors"] },
  },
  {
    name: "before: statistics per hour",
    path: "/calls/stats",
    body: { start, granularity: 3600, call_metrics: [{ metric: "call_count" }, { metric: "error_count" }] },
  },
  {
    name: "latency by op",
    path: "/calls/aggregate",
    body: { group_by: ["op"], metrics: ["count", "latency_p50", "latency_p95", "latency_p99"] },
  },
  {
    name: "cost by model and hour",
    path: "/calls/aggregate",
    body: { time: hours, group_by: ["model"], metrics: ["count", "tokens_total", "cost"] },
  },
  {
    name: "by a JSON path",
    path: "/calls/aggregate",
    body: { group_by: ["inputs.lang"], metrics: ["count", "latency_avg"] },
  },
  {
    name: "by a JSON path with a value each",
    path: "/calls/aggregate",
    body: { group_by: ["inputs.row"], metrics: ["count"] },
  },
  {
    name: "where a JSON path is a value",
    path: "/calls/aggregate",
    body: { query: { $expr: language }, metrics: ["count", "latency_p95"] },
  },
  {
    name: "distribution of latencies",
    path: "/calls/aggregate",
    body: { distributions: [{ field: "latency_ms", log: true }] },
  },
  { name: "search, rare word", path: "/calls/page", body: { limit: 50, search: { text: "zebrafish" } } },
  {
    name: "before: $contains of it",
    path: "/calls/query",
    body: { limit: 50, query: { $expr: contains("zebrafish") } },
  },
  { name: "search, common word", path: "/calls/page", body: { limit: 50, search: { text: "prompt" } } },
  { name: "search, missing word", path: "/calls/page", body: { limit: 50, search: { text: "quagmire" } } },
  {
    name: "before: $contains a missing",
    path: "/calls/query",
    body: { limit: 50, query: { $expr: contains("quagmire") } },
  },
  {
    name: "search, missing in quotes",
    path: "/calls/page",
    body: { limit: 50, search: { text: '"model prompt quagmire"' } },
  },
  { name: "fields", path: "/calls/fields", body: {} },
  { name: "values of a field", path: "/calls/fields", body: { path: "inputs.lang" } },
];

await fill();
const table: Record<string, Record<string, number | string>> = {};
const times = new Map(reads.map(({ name }) => [name, [] as number[]]));
const bodies = new Map<string, Buffer>();
for (let round = 0; round <= rounds; round++) {
  for (const { name, path, body } of reads) {
    const began = performance.now();
    const bytes = await read(path, body);
    // The first round warms up.
    if (round > 0) times.get(name)?.push(performance.now() - began);
    bodies.set(name, bytes);
  }
}
for (const [name, ms] of times) {
  const bytes = bodies.get(name) ?? Buffer.alloc(0);
  table[name] = {
    ms: short(median(ms)),
    worst: short(Math.max(...ms)),
    kB: short(bytes.length / 1000),
    "gzip kB": short(gzipSync(bytes, { level: 1 }).length / 1000),
  };
}
console.log(`\n${calls} calls of about 2 kB, and a trace of ${spans}; ${rounds} rounds\n${describeMachine()}`);
console.table(table);
await measureExport();
await measureMatching();
console.log(describeMachine());
await service.stop();

async function measureExport(): Promise<void> {
  const body = { format: "csv", select: ["id", "name", "status", "started_at", "latency_ms", "inputs.lang"] };
  const { url } = JSON.parse((await read("/exports", body)).toString()) as { url: string };
  const began = performance.now();
  const response = await fetch(url);
  let rows = 0;
  for await (const chunk of response.body ?? []) rows += Buffer.from(chunk).toString("latin1").split("\n").length - 1;
  const seconds = (performance.now() - began) / 1000;
  console.log(`\nexport of ${rows - 1} calls as CSV: ${short(seconds)} s, ${Math.round(rows / seconds)} rows/s`);
}

/** What does something with all that matches, each as often as its limit lets it. */
async function measureMatching(): Promise<void> {
  const all = calls + spans;
  const { id: queue } = JSON.parse((await read("/annotation_queues", { name: "all", scorer_refs: [] })).toString()) as {
    id: string;
  };
  const dataset = { project_id: undefined, name: "many", rows: [{ none: 0 }] };
  const made = JSON.parse((await read("/v2/bench/aggregates/datasets", dataset)).toString()) as { object_id: string };
  const works: Record<string, [path: string, body: object]> = {
    "feedback on all, refused": [
      "/feedback/create_matching",
      { expected_count: all, feedback_type: "t", payload: { score: 1 } },
    ],
    "feedback on 10,000": [
      "/feedback/create_matching",
      { expected_count: all, limit: 10_000, feedback_type: "t", payload: { score: 1 } },
    ],
    "queue of 10,000": [
      `/annotation_queues/${queue}/items/add_matching`,
      { expected_count: all, limit: 10_000, display_fields: [] },
    ],
    "dataset of 10,000": [
      `/v2/bench/aggregates/datasets/${made.object_id}/add_matching`,
      { expected_count: all, limit: 10_000, project_id: undefined },
    ],
    "deletion, one call more expected": ["/calls/delete_matching", { expected_count: all + 1, limit: 10_000 }],
    "deletion of 10,000": ["/calls/delete_matching", { expected_count: all, limit: 10_000 }],
  };
  const done: Record<string, object> = {};
  for (const [name, [path, body]] of Object.entries(works)) {
    const began = performance.now();
    const response = await send(path, body);
    await response.text();
    done[name] = { status: response.status, ms: short(performance.now() - began) };
  }
  console.log(`\nwhat changes calls of ${all} that match`);
  console.table(done);
}

async function read(path: string, body: object): Promise<Buffer> {
  const response = await send(path, body);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (!response.ok)
    throw new Error(`${path} ${JSON.stringify(body)}: ${response.status} ${bytes.toString("utf8", 0, 500)}`);
  return bytes;
}

async function send(path: string, body: object): Promise<Response> {
  return await fetch(`${service.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "accept-encoding": "identity" },
    body: JSON.stringify({ project_id: project, ...body }),
  });
}

/** Rows that ingest would have made; the engine makes them in no time. */
async function fill(): Promise<void> {
  const block = 20_000;
  for (let from = 0; from < calls; from += block) {
    await service.engine(
      rowsOf({
        from,
        count: Math.min(block, calls - from),
        stepUs: 1_000_000,
        id: "lower(hex(sipHash128(number)))",
        trace: "lower(hex(sipHash128(intDiv(number, 6))))",
        parent: "''",
      }),
    );
  }
  const parent = "if(number = 0, '', lower(leftPad(hex(cityHash64('span', intDiv(number - 1, 7))), 16, '0')))";
  const id = "lower(leftPad(hex(cityHash64('span', number)), 16, '0'))";
  // A minute of work.
  await service.engine(
    rowsOf({ from: 0, count: spans, stepUs: Math.ceil(60_000_000 / spans), id, trace: `'${trace}'`, parent }),
  );
  for (let idle = 0; idle < 3;) {
    const merges = (await service.engine("SELECT count() FROM system.merges")).trim();
    idle = merges === "0" ? idle + 1 : 0;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

interface Rows {
  from: number;
  count: number;
  /** Between starts. */
  stepUs: number;
  /** SQL over `number`. */
  id: string;
  trace: string;
  parent: string;
}

function rowsOf({ from, count, stepUs, id, trace: traceId, parent }: Rows): string {
  const started = `fromUnixTimestamp64Micro(${firstUs} + number * ${stepUs} + cityHash64(number) % ${stepUs}, 'UTC')`;
  const latency = "toInt64(exp(4 + (cityHash64(number, 1) % 1000) / 100) * 100)";
  const words =
    "arrayStringConcat(arrayMap(i -> ['trace','prompt','model','answer','token','context'][1 + (cityHash64(number, i) % 6)], range(150)), ' ')";
  const model = "if(number % 3 = 0, ['gpt-4o'], [])";
  const tokens = (sql: string) => `if(number % 3 = 0, [${sql}], [])`;
  const values = {
    project_id: `'${project}'`,
    id,
    trace_id: traceId,
    parent_id: parent,
    op_name: "concat('weave:///bench/aggregates/op/op', toString(number % 20), ':R2M3VnB8')",
    op_key: "concat('weave:///bench/aggregates/op/op', toString(number % 20))",
    user_id: "concat('user-', toString(number % 7))",
    started_at: started,
    ended_at: `${started} + toIntervalMicrosecond(${latency})`,
    latency_us: latency,
    status: "if(number % 50 = 0, 'error', 'success')",
    stated_kind: "['', 'tool', 'agent'][1 + number % 3]",
    attributes: `'{"weave":{"client_version":"0.52.0"}}'`,
    inputs: `concat('{"lang":"', ['en','de','fr','ja'][1 + cityHash64(number) % 4], '","row":', toString(number), ',"text":"', ${words}, '"}')`,
    output: `concat('{"answer":"', if(number % 40000 = 777, 'zebrafish ', ''), ${words}, '"}')`,
    summary: `'{}'`,
    size_bytes: "2000",
    "`usage.model`": model,
    "`usage.requests`": tokens("1"),
    "`usage.prompt_tokens`": tokens("300"),
    "`usage.completion_tokens`": tokens("40"),
    "`usage.total_tokens`": tokens("340"),
    "`usage.cache_read_tokens`": tokens("0"),
    "`usage.cache_creation_tokens`": tokens("0"),
    version: String(from + 1),
  };
  return `INSERT INTO trace.calls (${Object.keys(values).join(", ")}) SELECT ${Object.values(values).join(", ")} FROM numbers(${from}, ${count})`;
}
