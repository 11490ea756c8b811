/**
 * Mixed load for minutes, and what it does to memory, threads, file descriptors and parts: batches, single calls,
 * starts that end later, spans, lists, counts, streams that the client aborts, renames, deletes, bad requests.
 * Linux only (reads /proc).
 *
 *   pnpm bench:soak [--minutes 10] [--rows 20]
 */
import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { newId } from "@heddle/trace-model";
import { describeMachine, megabytes, option } from "./results.js";
import { send } from "./load.js";
import type { ReadyRequest } from "./load.js";
import { completeRequests, spanRequests } from "./payloads.js";
import { openFiles, resident } from "./process-usage.js";
import { startServiceProcess } from "./service-process.js";

const minutes = option("minutes", 10);
const rows = option("rows", 20);
const project = "local/soak";

console.log(describeMachine());
const service = await startServiceProcess();
const agent = new Agent({ keepAlive: true });
const table: Array<Record<string, number>> = [];
const done = { requests: 0, failed: 0 };
const began = performance.now();
const until = began + minutes * 60_000;
let lastFailure = "";
const recent: string[] = [];

const asJson = (path: string, body: unknown): ReadyRequest => ({
  path,
  headers: { "content-type": "application/json" },
  bytes: Buffer.from(JSON.stringify(body)),
});
const query = (more: object) => asJson("/calls/stream_query", { project_id: project, limit: 50, ...more });
const newest = { sort_by: [{ field: "started_at", direction: "desc" }] };
const where = (path: string, op: string, value: unknown) => ({
  query: { $expr: { [op]: [{ $getField: path }, { $literal: value }] } },
});

/** What one round of a kind of client does, and how long it rests after it. */
const clients: Array<{ restMs: number; round: () => Promise<unknown> }> = [
  { restMs: 500, round: () => sendOne(completeRequests(project, 1, 100)[0]) },
  { restMs: 500, round: () => sendOne(spanRequests(project, 1, 100)[0]) },
  { restMs: 50, round: () => sendOne(completeRequests(project, 1, 1)[0]) },
  { restMs: 100, round: startAndEnd },
  { restMs: 300, round: () => sendOne(query(newest)) },
  { restMs: 700, round: () => sendOne(query({ ...newest, ...where("inputs.model", "$eq", "gpt-x") })) },
  { restMs: 900, round: () => sendOne(query({ sort_by: [{ field: "summary.weave.latency_ms", direction: "desc" }] })) },
  { restMs: 900, round: () => sendOne(asJson("/calls/query_stats", { project_id: project })) },
  { restMs: 2000, round: leaveEarly },
  { restMs: 1000, round: renameAndDelete },
  { restMs: 1000, round: refusedRequest },
];

for (const client of clients) void work(client);
for (let row = 0; row <= rows; row++) {
  await delay(Math.max(0, began + (row * minutes * 60_000) / rows - performance.now()));
  await note();
}
console.log(`\n${done.requests} requests, ${done.failed} failed${done.failed > 0 ? `, last: ${lastFailure}` : ""}`);
console.table(table);
console.log(describeMachine());
agent.destroy();
await service.stop();
process.exit(0);

async function work({ restMs, round }: { restMs: number; round: () => Promise<unknown> }): Promise<void> {
  while (performance.now() < until) {
    try {
      await round();
    } catch (error) {
      if (performance.now() >= until) return;
      done.failed++;
      lastFailure = error instanceof Error ? error.message : String(error);
    }
    await delay(restMs);
  }
}

async function note(): Promise<void> {
  const [serviceUsage, engine] = [resident(service.pid), resident(service.enginePid())];
  const sql = "SELECT count(), sum(rows) FROM system.parts WHERE database = 'trace' AND active FORMAT TabSeparated";
  const [parts, rows] = (await service.engine(sql)).trim().split("\t").map(Number);
  table.push({
    minute: Math.round((performance.now() - began) / 6000) / 10,
    "service MB": megabytes(serviceUsage.bytes),
    "engine MB": megabytes(engine.bytes),
    "service threads": serviceUsage.threads,
    "engine threads": engine.threads,
    "service files": openFiles(service.pid),
    "engine files": openFiles(service.enginePid()),
    "active parts": parts ?? 0,
    rows: rows ?? 0,
    requests: done.requests,
    failed: done.failed,
  });
}

async function sendOne(ready: ReadyRequest | undefined): Promise<void> {
  if (ready === undefined) return;
  await send(service, agent, ready);
  done.requests++;
}

async function startAndEnd(): Promise<void> {
  const id = newId();
  const startedAt = new Date().toISOString();
  const start = {
    project_id: project,
    id,
    trace_id: id,
    op_name: "soak",
    started_at: startedAt,
    attributes: {},
    inputs: { a: 1 },
  };
  await sendOne(asJson("/call/start", { start }));
  await delay(100);
  const endedAt = new Date().toISOString();
  await sendOne(
    asJson("/call/end", { end: { project_id: project, id, ended_at: endedAt, output: { b: 2 }, summary: {} } }),
  );
  recent.push(id);
}

async function leaveEarly(): Promise<void> {
  const leaving = new AbortController();
  const { bytes, path, headers } = asJson("/calls/stream_query", { project_id: project });
  const response = await fetch(`${service.url}${path}`, {
    method: "POST",
    headers: { ...headers, authorization: `Bearer ${service.key}` },
    body: new Uint8Array(bytes),
    signal: leaving.signal,
  });
  const reader = response.body?.getReader();
  await reader?.read();
  leaving.abort();
  done.requests++;
}

async function renameAndDelete(): Promise<void> {
  const [renamed, deleted] = [recent.pop(), recent.shift()];
  if (renamed === undefined || deleted === undefined) return;
  await sendOne(asJson("/call/update", { project_id: project, call_id: renamed, display_name: "soaked" }));
  await sendOne(asJson("/calls/delete", { project_id: project, call_ids: [deleted] }));
}

async function refusedRequest(): Promise<void> {
  const response = await fetch(`${service.url}/call/start`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: '{"start": {"project_id": 1',
  });
  await response.text();
  if (response.status !== 400) throw new Error(`a broken body got ${response.status}`);
  done.requests++;
}
