/**
 * A noisy neighbour: one key attacks the service with one shape after another, and then with all at once, while a key of
 * another entity writes 50 calls a second, reads, completes and evaluates. Latencies and errors of the neighbour with and
 * without each attack, the responses of the attacker, and the memory of the processes. Linux only (reads /proc).
 *
 * What attacks is not what is measured: the attacker's client and model server have the lowest priority, as if they were on
 * machines of their own, and the neighbour's client is alone in its process. With several rounds each figure is the median
 * of them, of memory the most.
 *
 *   pnpm bench:neighbour [--seconds 15] [--rounds 1] [--only <parts of names, with commas>]
 */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { attacks } from "./attacks/attacks.js";
import type { AttackName } from "./attacks/attacks.js";
import { startAttacks } from "./attacks/start-attacks.js";
import { forkNice } from "./fork-nice.js";
import { startModelServer } from "./model-server.js";
import type { NeighbourRun } from "./neighbour-client.js";
import { neighbourKinds } from "./neighbour-load.js";
import type { NeighbourTimes } from "./neighbour-load.js";
import { neighbourProviders, prepareAttacks, storeCalls, storeEvaluation } from "./neighbour-tenants.js";
import { childrenOf, forgetPeak, resident } from "./process-usage.js";
import { describeMachine, median, megabytes, option, quantile, short, text } from "./results.js";
import { startServiceProcess } from "./service-process.js";
import type { ServiceProcess } from "./service-process.js";

const seconds = option("seconds", 15);
const rounds = option("rounds", 1);
const only = text("only", "").split(",");
const isWanted = (name: string) => only.some((part) => name.includes(part));
const writesPerSecond = 50;
/** Before each phase, for what the attack before has left. */
const restMs = 5000;
const lowestPriority = 19;

/** What one phase showed. */
interface Phase extends NeighbourTimes {
  /** MB, the most, by process. */
  memory: Record<"service" | "engine" | "sampler" | "trainer", number>;
  statuses: string[];
}

console.log(describeMachine());
const models = await startModelServer();
const slowModels = forkNice(new URL("attacks/slow-models.ts", import.meta.url), lowestPriority);
const [attackersUrl] = (await once(slowModels, "message")) as [string];
const directory = mkdtempSync(join(tmpdir(), "heddle-neighbour-"));
const providers = join(directory, "providers.json");
writeFileSync(providers, JSON.stringify(neighbourProviders(models.url, attackersUrl)));
const service = await startServiceProcess({ env: { HEDDLE_PROVIDERS: providers } });
const neighbour: ServiceProcess = { ...service, key: service.createKey("neighbour", "write") };
const attacker: ServiceProcess = { ...service, key: service.createKey("attacker", "write") };
const client = forkNice(new URL("neighbour-client.ts", import.meta.url), 0);
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
const wanted: [name: string, attacking: AttackName[]][] = [
  ["quiet", []],
  ...names.filter(isWanted).map((name): [string, AttackName[]] => [name, [name]]),
  ...(isWanted("all at once") ? [["all at once", names] satisfies [string, AttackName[]]] : []),
  ["quiet again", []],
];
const phases: Record<string, Phase[]> = {};

await measure([]);
for (let round = 1; round <= rounds; round++) {
  for (const [name, attacking] of wanted) {
    const phase = await measure(attacking);
    (phases[name] ??= []).push(phase);
    console.log(round, name, latenciesOf([phase]), costsOf([phase]), ...new Set(phase.errors.slice(0, 3)));
  }
}
const tableOf = (row: (phases: Phase[]) => object) =>
  Object.fromEntries(Object.entries(phases).map(([name, measured]) => [name, row(measured)]));
console.log(`\nmilliseconds of the neighbour, p50 / p99, and p99 as a multiple of the quiet one`);
console.table(tableOf(latenciesOf));
console.log("errors of the neighbour; MB of resident memory, the most in each phase; statuses of the attacker");
console.table(tableOf(costsOf));
console.log(describeMachine());
agent.destroy();
models.close();
slowModels.disconnect();
client.disconnect();
await service.stop();
rmSync(directory, { recursive: true, force: true });
process.exit(0);

function latenciesOf(measured: Phase[]): Record<string, string> {
  const over = (of: Phase[], kind: (typeof neighbourKinds)[number], share: number) =>
    median(of.map(({ times }) => quantile(times[kind], share)));
  return Object.fromEntries(
    neighbourKinds.map((kind) => {
      const [half, most] = [over(measured, kind, 0.5), over(measured, kind, 0.99)];
      const factor = most / over(phases["quiet"] ?? measured, kind, 0.99);
      return [kind, `${short(half)} / ${short(most)} (${factor.toFixed(1)})`];
    }),
  );
}

function costsOf(measured: Phase[]): Record<string, string | number> {
  const most = (process: keyof Phase["memory"]) => Math.max(...measured.map(({ memory }) => memory[process]));
  return {
    errors: measured.flatMap(({ errors }) => errors).length,
    service: most("service"),
    engine: most("engine"),
    sampler: most("sampler"),
    trainer: most("trainer"),
    attacker: [...new Set(measured.flatMap(({ statuses }) => statuses))].toSorted().join(", "),
  };
}

async function measure(attacking: AttackName[]): Promise<Phase> {
  await delay(restMs);
  const children = () => childrenOf(service.pid);
  for (const pid of [service.pid, ...children()]) forgetPeak(pid);
  const options = { niceness: lowestPriority };
  const stop = attacking.length === 0 ? undefined : await startAttacks(attacking, target, options);
  if (stop !== undefined) await delay(2000);
  const run: NeighbourRun = {
    neighbour: { url: neighbour.url, key: neighbour.key },
    load: { projectId: "neighbour/app", writesPerSecond, evaluation },
    seconds,
  };
  client.send(run);
  const [result] = (await once(client, "message")) as [NeighbourTimes];
  const report = (await stop?.()) ?? {};
  const peak = (pid: number | undefined) => (pid === undefined ? 0 : megabytes(resident(pid).peak));
  const engine = service.enginePid();
  const [sampler, trainer] = children().filter((pid) => pid !== engine);
  return {
    ...result,
    memory: { service: peak(service.pid), engine: peak(engine), sampler: peak(sampler), trainer: peak(trainer) },
    statuses: Object.keys(report),
  };
}
