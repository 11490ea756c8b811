/**
 * A noisy neighbour: one key attacks the service with one shape after another, while a key of another entity writes 50
 * calls a second and reads. Latencies and errors of the victim with and without each attack, the responses of the
 * attacker, and the memory of the service. Linux only (reads /proc).
 *
 *   pnpm bench:neighbour [--seconds 15] [--only <part of a name>]
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { newId } from "@heddle/trace-model";
import { eachOf, send } from "./load.js";
import type { ReadyRequest } from "./load.js";
import { attacks } from "./neighbour-attacks.js";
import type { AttackName, AttackReport } from "./neighbour-attacks.js";
import { completeRequests } from "./payloads.js";
import { forgetPeak, resident } from "./process-usage.js";
import { describeMachine, megabytes, option, quantile, short, text } from "./results.js";
import { startServiceProcess } from "./service-process.js";
import type { ServiceProcess } from "./service-process.js";

const seconds = option("seconds", 15);
const only = text("only", "");
const writesPerSecond = 50;
/** Before each phase, for what the attack before has left. */
const restMs = 5000;

console.log(describeMachine());
const service = await startServiceProcess();
const victim: ServiceProcess = { ...service, key: service.createKey("victim", "write") };
const attacker: ServiceProcess = { ...service, key: service.createKey("attacker", "write") };
const agent = new Agent({ keepAlive: true });
const giants = await prepare();
const table: Record<string, Record<string, number | string>> = {};

await measure("warm-up");
delete table["warm-up"];
await measure("quiet");
for (const name of Object.keys(attacks) as AttackName[]) if (name.includes(only)) await measure(name, name);
await delay(restMs);
await measure("quiet again");
console.log(
  `\nmilliseconds of the victim, ${writesPerSecond} writes a second; MB of resident memory, the most in each phase`,
);
console.table(table);
console.log(describeMachine());
agent.destroy();
await service.stop();
process.exit(0);

function asJson(path: string, body: unknown): ReadyRequest {
  const headers = { "content-type": "application/json" };
  return { path, headers, bytes: Buffer.from(JSON.stringify(body)) };
}

/** Data of both projects: many calls, and for the attacker large ones and a large object. */
async function prepare(): Promise<{ ref: string; table: string }> {
  for (const [owner, projectId] of [
    [victim, "victim/app"],
    [attacker, "attacker/app"],
  ] as const) {
    await eachOf(completeRequests(projectId, 50, 100), 2, (ready) => send(owner, agent, ready));
  }
  const giant = "x".repeat(6_000_000);
  const body = async (path: string, request: unknown) => {
    const headers = { authorization: `Bearer ${attacker.key}`, "content-type": "application/json" };
    const response = await fetch(`${service.url}${path}`, { method: "POST", headers, body: JSON.stringify(request) });
    return (await response.json()) as { digest: string };
  };
  const projectId = "attacker/app";
  const { digest } = await body("/obj/create", { obj: { project_id: projectId, object_id: "giant", val: { giant } } });
  const rows = Array.from({ length: 4 }, (_, n) => ({ n, giant }));
  const table = await body("/table/create", { table: { project_id: projectId, rows } });
  const ref = `weave:///attacker/app/object/giant:${digest}`;
  const started = new Date().toISOString();
  const call = { project_id: projectId, trace_id: "t", op_name: "op", started_at: started, ended_at: started };
  const batch = Array.from({ length: 40 }, () => ({
    ...call,
    id: newId(),
    attributes: {},
    inputs: { model: ref, long: giant.slice(0, 500_000) },
    summary: {},
  }));
  await body("/v2/attacker/app/calls/complete", { batch });
  return { ref, table: table.digest };
}

async function measure(name: string, attack?: AttackName): Promise<void> {
  await delay(restMs);
  forgetPeak(service.pid);
  forgetPeak(service.enginePid());
  const running = attack === undefined ? undefined : startAttack(attack);
  if (running !== undefined) await delay(2000);
  const times = { write: [] as number[], list: [] as number[], read: [] as number[] };
  const errors: string[] = [];
  const timed = async (kind: keyof typeof times, ready: ReadyRequest) => {
    const start = performance.now();
    try {
      await send(victim, agent, ready);
    } catch (error) {
      errors.push(error instanceof Error ? error.message : String(error));
    }
    times[kind].push(performance.now() - start);
  };
  const pending: Promise<void>[] = [];
  const newest = [{ field: "started_at", direction: "desc" }];
  const count = seconds * writesPerSecond;
  const began = performance.now();
  for (let index = 0; index < count; index++) {
    await delay(Math.max(0, began + (index * 1000) / writesPerSecond - performance.now()));
    const [write] = completeRequests("victim/app", 1, 1);
    if (write !== undefined) pending.push(timed("write", write));
    const list = { project_id: "victim/app", limit: 20, sort_by: newest };
    if (index % 10 === 0) pending.push(timed("list", asJson("/calls/stream_query", list)));
    if (index % 25 === 0) pending.push(timed("read", asJson("/calls/query_stats", { project_id: "victim/app" })));
  }
  await Promise.all(pending);
  const report = await running?.();
  const row: Record<string, number | string> = {};
  for (const kind of ["write", "list", "read"] as const) {
    row[`${kind} p50`] = short(quantile(times[kind], 0.5));
    row[`${kind} p99`] = short(quantile(times[kind], 0.99));
  }
  row["errors"] = errors.length;
  row["service MB"] = megabytes(resident(service.pid).peak);
  row["engine MB"] = megabytes(resident(service.enginePid()).peak);
  row["attacker"] = Object.entries(report ?? {})
    .map(([status, times]) => `${status}: ${times}`)
    .join(", ");
  table[name] = row;
  console.log(name, row, ...new Set(errors.slice(0, 3)));
}

/** Attacks from a process of its own, so that the victim's clock is not disturbed; the result ends it. */
function startAttack(name: AttackName): () => Promise<AttackReport> {
  const child = fork(fileURLToPath(new URL("neighbour-attacks.ts", import.meta.url)), [], {
    execArgv: process.execArgv,
  });
  child.send({ name, target: { url: service.url, key: attacker.key, ...giants } });
  return async () => {
    const message = once(child, "message") as Promise<[AttackReport]>;
    child.send("stop");
    const [report] = await message;
    child.kill("SIGKILL");
    return report;
  };
}
