/**
 * Ingest of one service and of as many workers as HEDDLE_WORKERS says, with the CPU that each span costs: what the division
 * into tracing databases, and the way of a request from the process that got it to the one that stores it, cost. Rounds
 * alternate, so that both see the same machine; projects are spread over the databases, so that about half of what is sent comes to
 * the other process. Medians over rounds.
 *
 *   pnpm build && node --import tsx -C @heddle/source packages/service/bench/workers.ts [--rounds 7] [--workers 2] [--size 1]
 */
import { readFileSync } from "node:fs";
import { sendAll } from "./load.js";
import type { ReadyRequest } from "./load.js";
import { completeRequests, spanRequests } from "./payloads.js";
import { childrenOf, cpuMs } from "./process-usage.js";
import { describeMachine, median, option, short } from "./results.js";
import { startServiceProcess } from "./service-process.js";
import type { ServiceProcess } from "./service-process.js";

const rounds = option("rounds", 7);
const workers = option("workers", 2);
const size = option("size", 1);
const connections = 16;
const sized = (count: number) => Math.max(1, Math.round(count * size));

interface Workload {
  name: string;
  spans: number;
  requests: (projectId: string) => ReadyRequest[];
}

const workloads: Workload[] = [
  {
    name: `OTLP, batches of 512 spans, ${connections} connections`,
    spans: sized(16) * 512,
    requests: (projectId) => spanRequests(projectId, sized(16), 512),
  },
  {
    name: `batches of 100 calls, ${connections} connections`,
    spans: sized(40) * 100,
    requests: (projectId) => completeRequests(projectId, sized(40), 100),
  },
];

interface Round {
  perSecond: number;
  serviceUs: number;
  engineUs: number;
}

interface Tested {
  service: ServiceProcess;
  /** One in each tracing database. */
  projects: string[];
  rounds: Round[];
}

console.log(describeMachine());
const tested: Record<string, Tested> = {
  "one service": await open(1),
  [`${workers} workers`]: await open(workers),
};
for (const { name, spans, requests } of workloads) {
  for (const each of Object.values(tested)) each.rounds = [];
  // The first two rounds warm up.
  for (let round = -2; round < rounds; round++) {
    for (const { service, projects, rounds: measured } of Object.values(tested)) {
      const share = projects.map((projectId) => requests(projectId));
      const all = Array.from({ length: share[0]?.length ?? 0 }, (_, i) => share.flatMap((of) => of[i] ?? [])).flat();
      const count = spans * projects.length;
      const [before, start] = [usage(service), performance.now()];
      await sendAll(service, all, connections);
      const [seconds, after] = [(performance.now() - start) / 1000, usage(service)];
      const perSpan = (ms: number) => (1000 * ms) / count;
      if (round < 0) continue;
      measured.push({
        perSecond: count / seconds,
        serviceUs: perSpan(after.service - before.service),
        engineUs: perSpan(after.engine - before.engine),
      });
    }
  }
  console.log(`\n${name}; ${rounds} rounds`);
  console.table(Object.fromEntries(Object.entries(tested).map(([of, each]) => [of, summary(each.rounds)])));
}
for (const { service } of Object.values(tested)) await service.stop();
console.log(describeMachine());

async function open(count: number): Promise<Tested> {
  const service = await startServiceProcess({ env: { HEDDLE_WORKERS: String(count) } });
  // Databases are spread over the workers in a few seconds.
  await new Promise((resolve) => setTimeout(resolve, 8000));
  const projects = Array.from({ length: workers }, (_, i) => `local/bench-${i}`);
  for (const projectId of projects) await sendAll(service, completeRequests(projectId, 1, 1), 1);
  return { service, projects, rounds: [] };
}

/** Milliseconds of CPU of all processes of a service. */
function usage({ pid }: ServiceProcess): { service: number; engine: number } {
  const sum = { service: cpuMs(pid), engine: 0 };
  for (const child of childrenOf(pid)) {
    const isEngine = readFileSync(`/proc/${child}/cmdline`, "utf8").includes("embedded-clickhouse");
    sum[isEngine ? "engine" : "service"] += cpuMs(child);
  }
  return sum;
}

function summary(all: readonly Round[]): Record<string, number> {
  const of = (figure: (round: Round) => number) => short(median(all.map(figure)));
  return {
    "spans/s": of(({ perSecond }) => perSecond),
    "service CPU µs/span": of(({ serviceUs }) => serviceUs),
    "engine CPU µs/span": of(({ engineUs }) => engineUs),
  };
}
