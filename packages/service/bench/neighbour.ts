/**
 * A noisy neighbour: one key attacks the service with one shape after another, and then with all at once, while a key of
 * another entity writes 50 calls a second, reads, completes and evaluates. Latencies and errors of the neighbour with and
 * without each attack, the responses of the attacker, and the memory of the processes. Linux only (reads /proc).
 *
 *   pnpm bench:neighbour [--seconds 15] [--only <parts of names, with commas>]
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { attacks } from "./attacks/attacks.js";
import type { AttackName } from "./attacks/attacks.js";
import { startAttacks } from "./attacks/start-attacks.js";
import { startModelServer } from "./model-server.js";
import { neighbourProviders, prepareAttacks, storeCalls, storeEvaluation } from "./neighbour-tenants.js";
import { childrenOf, forgetPeak, resident } from "./process-usage.js";
import { describeMachine, megabytes, option, quantile, short, text } from "./results.js";
import { startServiceProcess } from "./service-process.js";
import type { ServiceProcess } from "./service-process.js";
import { runNeighbour, neighbourKinds } from "./neighbour-load.js";

const seconds = option("seconds", 15);
const only = text("only", "").split(",");
const isWanted = (name: string) => only.some((part) => name.includes(part));
const writesPerSecond = 50;
/** Before each phase, for what the attack before has left. */
const restMs = 5000;

console.log(describeMachine());
const models = await startModelServer();
const directory = mkdtempSync(join(tmpdir(), "heddle-neighbour-"));
const providers = join(directory, "providers.json");
writeFileSync(providers, JSON.stringify(neighbourProviders(models.url)));
const service = await startServiceProcess({ env: { HEDDLE_PROVIDERS: providers } });
const neighbour: ServiceProcess = { ...service, key: service.createKey("neighbour", "write") };
const attacker: ServiceProcess = { ...service, key: service.createKey("attacker", "write") };
const agent = new Agent({ keepAlive: true });
await storeCalls(neighbour, agent, "neighbour/app");
await storeCalls(attacker, agent, "attacker/app");
const target = await prepareAttacks(attacker);
const evaluation = await storeEvaluation(neighbour, "neighbour/app", {
  rows: 2,
  model: "bench/fast",
  template: "{prompt}",
  scorers: [["ExactMatchScorer", {}]],
});
const names = Object.keys(attacks) as AttackName[];
const latencies: Record<string, Record<string, string>> = {};
const costs: Record<string, Record<string, string | number>> = {};
const p99: Record<string, Record<string, number>> = {};

await measure("warm-up", []);
for (const table of [latencies, costs, p99]) delete table["warm-up"];
await measure("quiet", []);
for (const name of names) if (isWanted(name)) await measure(name, [name]);
if (isWanted("all at once")) await measure("all at once", names);
await delay(restMs);
await measure("quiet again", []);
console.log(`\nmilliseconds of the neighbour, p50 / p99, and p99 as a multiple of the quiet one`);
console.table(latencies);
console.log("errors of the neighbour; MB of resident memory, the most in each phase; statuses of the attacker");
console.table(costs);
console.log(describeMachine());
agent.destroy();
models.close();
await service.stop();
rmSync(directory, { recursive: true, force: true });
process.exit(0);

async function measure(name: string, attacking: AttackName[]): Promise<void> {
  await delay(restMs);
  const children = () => childrenOf(service.pid);
  for (const pid of [service.pid, ...children()]) forgetPeak(pid);
  const stop = attacking.length === 0 ? undefined : await startAttacks(attacking, target);
  if (stop !== undefined) await delay(2000);
  const load = { projectId: "neighbour/app", writesPerSecond, evaluation };
  const { times, errors } = await runNeighbour(neighbour, agent, load, seconds);
  const report = (await stop?.()) ?? {};
  p99[name] = {};
  latencies[name] = {};
  for (const kind of neighbourKinds) {
    const [half, most] = [quantile(times[kind], 0.5), quantile(times[kind], 0.99)];
    p99[name][kind] = most;
    const factor = most / (p99["quiet"]?.[kind] ?? most);
    latencies[name][kind] = `${short(half)} / ${short(most)} (${factor.toFixed(1)})`;
  }
  const peak = (pid: number | undefined) => (pid === undefined ? "" : megabytes(resident(pid).peak));
  const engine = service.enginePid();
  const others = children().filter((pid) => pid !== engine);
  costs[name] = {
    errors: errors.length,
    service: peak(service.pid),
    engine: peak(engine),
    "sampler, trainer": others.map(peak).join(", "),
    attacker: Object.entries(report)
      .map(([status, times]) => `${status}: ${times}`)
      .join(", "),
  };
  console.log(name, latencies[name], costs[name], ...new Set(errors.slice(0, 3)));
}
