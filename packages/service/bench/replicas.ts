/**
 * Ingest of one service, of one replica and of two, all with the same server of tracing databases, and the CPU that each span
 * costs: what the division into databases, the way of a request from the replica that got it to the one that stores it, and
 * the fence of former writers cost. Requests go to the replicas in turn, so that half of them come to the wrong one. Rounds
 * alternate, so that all see the same machine. Medians over rounds.
 *
 *   pnpm build && node --import tsx -C @heddle/source packages/service/bench/replicas.ts [--rounds 7] [--size 1]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { sendAll } from "./load.js";
import { completeRequests } from "./payloads.js";
import { cpuMs } from "./process-usage.js";
import { describeMachine, option } from "./results.js";
import { startServiceProcess } from "./service-process.js";
import type { ServiceProcess } from "./service-process.js";
import { connections, spread, summary, workloads } from "./spread-ingest.js";
import type { Round } from "./spread-ingest.js";

const rounds = option("rounds", 7);

interface Tested {
  services: ServiceProcess[];
  enginePid: number;
  rounds: Round[];
  stop(): Promise<void>;
}

const projects = ["local/bench-0", "local/bench-1"];

console.log(describeMachine());
const tested: Record<string, Tested> = {
  "one service": await open({ replicas: 0, shards: 0 }),
  "one replica": await open({ replicas: 1, shards: 1 }),
  "two replicas": await open({ replicas: 2, shards: 1 }),
};
for (const workload of workloads) {
  for (const each of Object.values(tested)) each.rounds = [];
  // The first two rounds warm up.
  for (let round = -2; round < rounds; round++) {
    for (const { services, enginePid, rounds: measured } of Object.values(tested)) {
      const { all, count } = spread(workload, projects);
      const [service, engine, start] = [usage(services), cpuMs(enginePid), performance.now()];
      // By twos: each replica gets as much of each project.
      await Promise.all(
        services.map(async (one, at) => {
          const mine = all.filter((_, i) => Math.floor(i / projects.length) % services.length === at);
          await sendAll(one, mine, connections / services.length);
        }),
      );
      const seconds = (performance.now() - start) / 1000;
      if (round < 0) continue;
      measured.push({
        perSecond: count / seconds,
        serviceUs: (1000 * (usage(services) - service)) / count,
        engineUs: (1000 * (cpuMs(enginePid) - engine)) / count,
      });
    }
  }
  console.log(`\n${workload.name}; ${rounds} rounds`);
  console.table(Object.fromEntries(Object.entries(tested).map(([of, each]) => [of, summary(each.rounds)])));
}
for (const each of Object.values(tested)) await each.stop();
console.log(describeMachine());

async function open({ replicas, shards }: { replicas: number; shards: number }): Promise<Tested> {
  const root = mkdtempSync(join(tmpdir(), "heddle-bench-stores-"));
  const engine = await startEngineHost({ directory: join(root, "engine"), listen: { port: 0 } });
  const server = (path: string) => {
    const url = new URL(path, engine.url);
    [url.username, url.password] = ["default", engine.password ?? ""];
    return url.href;
  };
  const env = {
    HEDDLE_API_KEY: "b".repeat(40),
    HEDDLE_CLICKHOUSE_URL: server("/"),
    HEDDLE_BLOBS_URL: join(root, "blobs"),
    // A service that shares nothing gives its database no fence.
    ...(replicas > 0 && {
      HEDDLE_REPLICA_ADDRESS: "127.0.0.1",
      HEDDLE_DATABASE_URL: pathToFileURL(join(root, "control.db")).href,
    }),
    ...(shards > 0 && { HEDDLE_SHARDS: `east=${server("/trace_east")}` }),
  };
  const services: ServiceProcess[] = [];
  for (let i = 0; i < Math.max(1, replicas); i++) services.push(await startServiceProcess({ env }));
  // Databases are spread over the replicas in a few seconds.
  await new Promise((resolve) => setTimeout(resolve, 8000));
  for (const projectId of projects)
    for (const one of services) await sendAll(one, completeRequests(projectId, 1, 1), 1);
  return {
    services,
    enginePid: engine.state().pid ?? 0,
    rounds: [],
    async stop() {
      for (const one of services) await one.stop();
      await engine.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Milliseconds of CPU of all services. */
function usage(services: readonly ServiceProcess[]): number {
  return services.reduce((sum, { pid }) => sum + cpuMs(pid), 0);
}
