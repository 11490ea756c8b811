/**
 * Ingest of two built checkouts: what a call costs the main thread of each service, the whole of it, and its engine. Short rounds
 * alternate, so that both see the same machine; the ratio is the median over the pairs of rounds.
 *
 *   node --import tsx -C @heddle/source packages/service/bench/compare.ts --before <checkout> [--after <checkout>] [--pairs 20] [--load OTLP]
 */
import { readFileSync } from "node:fs";
import { sendAll } from "./load.js";
import { completeRequests, spanRequests } from "./payloads.js";
import { cpuMs } from "./process-usage.js";
import { describeMachine, median, option, short, text } from "./results.js";
import { startServiceProcess } from "./service-process.js";
import type { ServiceProcess } from "./service-process.js";

const pairs = option("pairs", 20);
const before = text("before", "");
if (before === "") throw new Error("--before names a built checkout");
const after = text("after", "");
const warmRounds = 6;

const loads = {
  "batches of 100 calls": { connections: 4, calls: 4000, requests: (id: string) => completeRequests(id, 40, 100) },
  "OTLP, batches of 512 spans": { connections: 4, calls: 8192, requests: (id: string) => spanRequests(id, 16, 512) },
  "single calls": { connections: 32, calls: 1500, requests: (id: string) => completeRequests(id, 1500, 1) },
};

/** Of all rounds: merges come now and then. */
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Microseconds that the first thread of a process ran, to the nanosecond. */
const mainThreadUs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1000;

console.log(describeMachine());
const services = [
  await startServiceProcess({ checkout: before }),
  await startServiceProcess(after === "" ? {} : { checkout: after }),
] as const;
const table: Record<string, Record<string, number>> = {};
for (const [name, load] of Object.entries(loads)) {
  if (!name.includes(text("load", ""))) continue;
  const round = async (service: ServiceProcess) => {
    const requests = load.requests("local/compare");
    const host = service.enginePid();
    const [main, whole, engine] = [mainThreadUs(service.pid), cpuMs(service.pid), cpuMs(host)];
    await sendAll(service, requests, load.connections);
    return {
      main: (mainThreadUs(service.pid) - main) / load.calls,
      whole: ((cpuMs(service.pid) - whole) * 1000) / load.calls,
      engine: ((cpuMs(host) - engine) * 1000) / load.calls,
    };
  };
  for (let warm = 0; warm < warmRounds; warm++) for (const service of services) await round(service);
  const measured = [];
  for (let pair = 0; pair < pairs; pair++) {
    // Whoever is second finds the caches of the machine as the first left them.
    const [first, second] = pair % 2 === 0 ? services : [services[1], services[0]];
    const [one, other] = [await round(first), await round(second)];
    measured.push(pair % 2 === 0 ? { old: one, young: other } : { old: other, young: one });
  }
  table[name] = {
    "before, main thread µs/call": short(median(measured.map(({ old }) => old.main))),
    after: short(median(measured.map(({ young }) => young.main))),
    ratio: short(median(measured.map(({ old, young }) => young.main / old.main))),
    "ratio of all threads": short(median(measured.map(({ old, young }) => young.whole / old.whole))),
    "engine µs/call, before": short(mean(measured.map(({ old }) => old.engine))),
    "engine, after": short(mean(measured.map(({ young }) => young.engine))),
  };
}
console.table(table);
console.log(describeMachine());
for (const service of services) await service.stop();
