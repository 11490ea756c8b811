/**
 * Ingest over HTTP, compared with the bare insert of the same rows into a table like `calls` of the same engine, with
 * the engine's own settings and with those of the store. Rounds alternate, so that all see the same machine; what is sent
 * is made before the clock starts. Medians over rounds.
 * Then, from a profile of a second service under the same load, where the time of the service goes.
 *
 *   pnpm build && node --import tsx -C @heddle/source packages/service/bench/ingest.ts [--rounds 7] [--size 1] [--load OTLP] [--keep-profile]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeMachine, median, option, quantile, short, text } from "./results.js";
import { eachOf, sendAll } from "./load.js";
import type { ReadyRequest } from "./load.js";
import { completeRequests, spanRequests } from "./payloads.js";
import { cpuMs, mainThreadMs } from "./process-usage.js";
import { startServiceProcess, storeSettings } from "./service-process.js";
import type { ServiceProcess } from "./service-process.js";
import { stages, stageTimes } from "./stages.js";

const rounds = option("rounds", 7);
/** How much one round sends, as a share of the usual. */
const size = option("size", 1);
/** Only the loads whose name has this part. */
const load = text("load", "");

interface Workload {
  name: string;
  connections: number;
  calls: number;
  requests: (project_id: string) => ReadyRequest[];
}

/** Calls until node has compiled what is used; before, one costs twice as much. */
const warmAfter = 6000;

const sized = (count: number) => Math.max(1, Math.round(count * size));
const batches = (connections: number): Workload => ({
  name: `batches of 100 calls, ${connections} connection${connections === 1 ? "" : "s"}`,
  connections,
  calls: sized(40) * 100,
  requests: (projectId) => completeRequests(projectId, sized(40), 100),
});
const exports = (connections: number): Workload => ({
  name: `OTLP, batches of 512 spans, ${connections} connections`,
  connections,
  calls: sized(32) * 512,
  requests: (projectId) => spanRequests(projectId, sized(32), 512),
});
const all: Workload[] = [
  batches(1),
  batches(4),
  {
    name: "single calls, 32 connections",
    connections: 32,
    calls: sized(2000),
    requests: (projectId) => completeRequests(projectId, sized(2000), 1),
  },
  exports(4),
  exports(16),
];

const workloads = all.filter(({ name }) => name.includes(load));

interface Round {
  perSecond: number;
  seconds: number;
  times: number[];
  serviceUs: number;
  mainThreadUs: number;
  engineUs: number;
}

console.log(describeMachine());
const service = await startServiceProcess();
await service.engine("CREATE TABLE trace.bare AS trace.calls");
for (const workload of workloads) await compare(workload);
await service.stop();
await profileAll();
console.log(describeMachine());

async function compare(workload: Workload): Promise<void> {
  const overHttp: Round[] = [];
  const alike: Round[] = [];
  const tuned: Round[] = [];
  const rowsPerInsert: number[] = [];
  const project = `local/bench-${workloads.indexOf(workload)}`;
  let bytes = 0;
  let last = "0";
  const first = await timed(workload, () => warmUp(service, workload, workload.calls));
  await warmUp(service, workload);
  for (let round = -1; round < rounds; round++) {
    const requests = workload.requests(project);
    bytes = requests.reduce((sum, request) => sum + request.bytes.length, 0) / workload.calls;
    const httpRound = await timed(workload, () => sendAll(service, requests, workload.connections));
    const { rows, inserts, newest } = await stored(project, last);
    last = newest;
    if (rows.length !== workload.calls) throw new Error(`${rows.length} of ${workload.calls} calls are stored`);
    const blocks = blocksOf(rows, workload.calls / requests.length);
    const alikeRound = await timed(workload, () => insertAll(blocks, workload.connections));
    const tunedRound = await timed(workload, () => insertAll(blocks, workload.connections, storeSettings));
    // The first round warms up the engine.
    if (round < 0) continue;
    overHttp.push(httpRound);
    alike.push(alikeRound);
    tuned.push(tunedRound);
    rowsPerInsert.push(rows.length / inserts);
  }
  console.log(
    `\n${workload.name}; ${Math.round(bytes)} bytes per call on the wire; ` +
      `${short(median(rowsPerInsert))} rows per insert; ${rounds} rounds of ${workload.calls}; ` +
      `the first one: ${short(first.serviceUs)} µs of service CPU per call, ${short(first.mainThreadUs)} on its main thread`,
  );
  const base = median(alike.map(({ perSecond }) => perSecond));
  console.table({
    "over HTTP": summary(overHttp, base),
    "bare, one insert per request": summary(alike, base),
    "bare, with the store's settings": summary(tuned, base),
  });
}

function summary(rounds: readonly Round[], base: number): Record<string, number> {
  const of = (figure: (round: Round) => number) => short(median(rounds.map(figure)));
  return {
    "calls/s": of(({ perSecond }) => perSecond),
    "% of bare": Math.round((100 * median(rounds.map(({ perSecond }) => perSecond))) / base),
    "requests/s": of(({ times, seconds }) => times.length / seconds),
    "p50 ms": of(({ times }) => median(times)),
    "p99 ms": of(({ times }) => quantile(times, 0.99)),
    "service CPU µs/call": of(({ serviceUs }) => serviceUs),
    "of it, main thread": of(({ mainThreadUs }) => mainThreadUs),
    "engine CPU µs/call": of(({ engineUs }) => engineUs),
  };
}

async function warmUp(target: ServiceProcess, workload: Workload, until = warmAfter): Promise<number[]> {
  const times: number[] = [];
  for (let sent = 0; sent < until; sent += workload.calls) {
    times.push(...(await sendAll(target, workload.requests("local/warm-up"), workload.connections)));
  }
  return times;
}

async function timed({ calls }: Workload, work: () => Promise<number[]>): Promise<Round> {
  const before = {
    service: cpuMs(service.pid),
    mainThread: mainThreadMs(service.pid),
    engine: cpuMs(service.enginePid()),
    at: performance.now(),
  };
  const times = await work();
  const seconds = (performance.now() - before.at) / 1000;
  return {
    perSecond: calls / seconds,
    seconds,
    times,
    serviceUs: ((cpuMs(service.pid) - before.service) * 1000) / calls,
    mainThreadUs: ((mainThreadMs(service.pid) - before.mainThread) * 1000) / calls,
    engineUs: ((cpuMs(service.enginePid()) - before.engine) * 1000) / calls,
  };
}

interface Stored {
  rows: string[];
  inserts: number;
  /** The largest version. */
  newest: string;
}

/** The rows of a project as lines of text, and how many inserts stored them: every commit has a version of its own. */
async function stored(project: string, afterVersion: string): Promise<Stored> {
  const where = `FROM trace.calls WHERE project_id = '${project}' AND version > ${afterVersion}`;
  const text = await service.engine(`SELECT * ${where} FORMAT TabSeparated`);
  const counts = await service.engine(`SELECT uniqExact(version), max(version) ${where} FORMAT TabSeparated`);
  const [inserts, newest = "0"] = counts.trim().split("\t");
  return { rows: text.split("\n").slice(0, -1), inserts: Number(inserts), newest };
}

function blocksOf(rows: readonly string[], size: number): Buffer[] {
  const blocks: Buffer[] = [];
  for (let from = 0; from < rows.length; from += size) {
    blocks.push(Buffer.from(`${rows.slice(from, from + size).join("\n")}\n`));
  }
  return blocks;
}

async function insertAll(
  blocks: readonly Buffer[],
  connections: number,
  settings?: Record<string, string>,
): Promise<number[]> {
  const sql = "INSERT INTO trace.bare FORMAT TabSeparated";
  return eachOf(blocks, connections, (block) => service.engine(sql, block, settings));
}

async function profileAll(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "heddle-profile-"));
  const profiled = await startServiceProcess({ nodeArguments: ["--cpu-prof", `--cpu-prof-dir=${directory}`] });
  const windows: Array<{ workload: Workload; from: bigint; to: bigint; calls: number }> = [];
  for (const workload of workloads) {
    await warmUp(profiled, workload);
    const requests = [1, 2, 3].flatMap(() => workload.requests("local/profile"));
    const from = process.hrtime.bigint();
    await sendAll(profiled, requests, workload.connections);
    windows.push({ workload, from, to: process.hrtime.bigint(), calls: 3 * workload.calls });
  }
  await profiled.stop();
  const table: Record<string, Record<string, number>> = {};
  for (const stage of stages) table[stage] = {};
  for (const { workload, from, to, calls } of windows) {
    const times = stageTimes(directory, profiled.pid, from, to);
    for (const stage of stages) {
      const row = table[stage];
      if (row !== undefined) row[workload.name] = short(((times.get(stage) ?? 0) * 1000) / calls);
    }
  }
  console.log("\nWhere the service's main thread spends its time, µs per call (sampled)");
  console.table(table);
  if (process.argv.includes("--keep-profile")) console.log(`The profile is in ${directory}`);
  else rmSync(directory, { recursive: true, force: true });
}
