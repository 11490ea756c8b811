/**
 * Ingest of one service and of as many workers as HEDDLE_WORKERS says, with the CPU that each span costs: what the division
 * into tracing databases, and the way of a request from the process that got it to the one that stores it, cost. Rounds
 * alternate, so that both see the same machine; projects are spread over the databases, so that about half of what is sent comes to
 * the other process. Medians over rounds.
 *
 *   pnpm build && node --import tsx -C @heddle/source packages/service/bench/workers.ts [--rounds 7] [--workers 2] [--size 1]
 *     [--connections 16]
 */
import { readFileSync } from "node:fs";
import { sendAll } from "./load.js";
import { completeRequests } from "./payloads.js";
import { childrenOf, cpuMs } from "./process-usage.js";
import { describeMachine, option, short } from "./results.js";
import { startServiceProcess } from "./service-process.js";
import type { ServiceProcess } from "./service-process.js";
import { connections, gain, spread, summary, workloads } from "./spread-ingest.js";
import type { Round } from "./spread-ingest.js";

const rounds = option("rounds", 7);
const workers = option("workers", 2);

interface Tested {
  service: ServiceProcess;
  /** One in each tracing database. */
  projects: string[];
  rounds: Round[];
  /** Share of a core that it takes while nobody asks for anything. */
  idle: number;
}

console.log(describeMachine());
const tested: Record<string, Tested> = {
  "one service": await open(1),
  [`${workers} workers`]: await open(workers),
};
for (const workload of workloads) {
  for (const each of Object.values(tested)) each.rounds = [];
  // The first two rounds warm up.
  for (let round = -2; round < rounds; round++) {
    for (const { service, projects, rounds: measured } of Object.values(tested)) {
      const { all, count } = spread(workload, projects);
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
  console.log(`\n${workload.name}; ${rounds} rounds`);
  console.table(Object.fromEntries(Object.entries(tested).map(([of, each]) => [of, summary(each.rounds)])));
  const [one = [], several = []] = Object.values(tested).map(({ rounds: measured }) => measured);
  console.log(`with ${workers} times the cores: ${gain(one, several, workers)} times the spans`);
}
for (const [of, { service, idle }] of Object.entries(tested)) {
  console.log(`${of}: ${short(100 * idle)} % of a core while idle`);
  await service.stop();
}
console.log(describeMachine());

async function open(count: number): Promise<Tested> {
  const service = await startServiceProcess({ env: { HEDDLE_WORKERS: String(count) } });
  // Databases are spread over the workers in a few seconds.
  await new Promise((resolve) => setTimeout(resolve, 8000));
  const projects = Array.from({ length: workers }, (_, i) => `local/bench-${i}`);
  for (const projectId of projects) await sendAll(service, completeRequests(projectId, 1, 1), 1);
  // Merges of what was stored end.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const [before, began] = [usage(service), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, 5000));
  const after = usage(service);
  const idle = (after.service + after.engine - before.service - before.engine) / (performance.now() - began);
  return { service, projects, rounds: [], idle };
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
