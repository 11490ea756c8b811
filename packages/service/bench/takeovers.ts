/**
 * For how long the projects of a tracing database are not written when the replica that has it is killed, and when it is ended in
 * order: the longest time between two acknowledged writes, of its projects and of those of the others. Three replicas, each
 * with one of three databases; clients send again at once what got no response of 200. Postgres where
 * HEDDLE_TEST_POSTGRES_URL names a server, otherwise SQLite.
 *
 *   pnpm build && node --import tsx -C @heddle/source packages/service/bench/takeovers.ts [--rounds 5] [--lease 3] [--signal SIGKILL]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { openControlPlane } from "@heddle/control-plane";
import { postgresDatabases, postgresUrl } from "@heddle/control-plane/testing";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { describeMachine, median, option, short, text } from "./results.js";
import { startServiceProcess } from "./service-process.js";
import type { ServiceProcess } from "./service-process.js";

const rounds = option("rounds", 5);
const lease = option("lease", 3);
const only = text("signal", "");
const signals = (["SIGTERM", "SIGKILL"] as const).filter((signal) => only === "" || signal === only);

console.log(describeMachine());
const root = mkdtempSync(join(tmpdir(), "heddle-bench-takeovers-"));
const engine = await startEngineHost({ directory: join(root, "engine"), listen: { port: 0 } });
const server = (path: string) => {
  const url = new URL(path, engine.url);
  [url.username, url.password] = ["default", engine.password ?? ""];
  return url.href;
};
const databases = postgresUrl === undefined ? undefined : postgresDatabases(postgresUrl);
const databaseUrl = (await databases?.make()) ?? pathToFileURL(join(root, "control.db")).href;
const env = {
  HEDDLE_API_KEY: "b".repeat(40),
  HEDDLE_LEASE: String(lease),
  HEDDLE_REPLICA_ADDRESS: "127.0.0.1",
  HEDDLE_DATABASE_URL: databaseUrl,
  HEDDLE_CLICKHOUSE_URL: server("/"),
  HEDDLE_SHARDS: ["east", "west"].map((name) => `${name}=${server(`/trace_${name}`)}`).join(","),
  HEDDLE_BLOBS_URL: join(root, "blobs"),
};
const start = async () => await startServiceProcess({ env });
const services: ServiceProcess[] = [await start(), await start(), await start()];
const control = await openControlPlane({ url: databaseUrl });

/** Each in another database. */
const projects = ["first", "second", "third"];
/** Between two acknowledged writes of each project, by the monotonic clock. */
const pauses = new Map(projects.map((project) => [project, { last: performance.now(), longest: 0 }]));
const state = { isEnding: false };

async function client(project: string, position: number): Promise<void> {
  for (let i = position; !state.isEnding; i++) {
    const { url, key } = services[i % services.length]!;
    const id = `${project}-${position}-${i}`;
    const started = { project_id: `local/${project}`, id, trace_id: id, op_name: "work", inputs: {}, attributes: {} };
    const body = JSON.stringify({ start: { ...started, started_at: new Date().toISOString() } });
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(`${url}/call/start`, { method: "POST", headers, body }).catch(() => undefined);
    await response?.text().catch(() => undefined);
    const pause = pauses.get(project)!;
    if (response?.status === 200) {
      const now = performance.now();
      pause.longest = Math.max(pause.longest, now - pause.last);
      pause.last = now;
    }
    await delay(20);
  }
}

/** The shards of each address, once every replica has one. */
async function spreadOut(): Promise<Map<string, string>> {
  for (;;) {
    const leases = await control.leases.list("tracing database");
    const owners = new Map(leases.map(({ name, address = "" }) => [address, name.split(" ")[2] ?? "main"]));
    const addresses = services.map(({ url }) => url.replace("localhost", "127.0.0.1"));
    if (leases.length === 3 && addresses.every((address) => owners.has(address))) return owners;
    await delay(100);
  }
}

await spreadOut();
for (const project of projects) {
  for (let status = 0; status !== 200; await delay(100)) {
    const headers = { authorization: `Bearer ${services[0]!.key}`, "content-type": "application/json" };
    const id = `first-of-${project}`;
    const begun = { project_id: `local/${project}`, id, trace_id: id, op_name: "work", inputs: {}, attributes: {} };
    const body = JSON.stringify({ start: { ...begun, started_at: new Date().toISOString() } });
    ({ status } = await fetch(`${services[0]!.url}/call/start`, { method: "POST", headers, body }));
  }
}
const clients = projects.flatMap((project) => [0, 1, 2].map(async (position) => await client(project, position)));

for (const signal of signals) {
  const own: Record<string, number[]> = { main: [], further: [], others: [] };
  for (let round = 0; round < rounds; round++) {
    const owners = await spreadOut();
    await delay(2000);
    const victim = services[round % services.length]!;
    const shard = owners.get(victim.url.replace("localhost", "127.0.0.1")) ?? "";
    const homes = new Map<string, string>();
    for (const project of projects) homes.set(project, (await control.shards.of("local", project)) ?? "");
    for (const pause of pauses.values()) pause.longest = 0;
    // Clients know that it is gone, as behind a load balancer that asks for its health.
    services.splice(services.indexOf(victim), 1);
    await victim.stop(signal);
    await delay(signal === "SIGKILL" ? lease * 1000 + 4000 : 3000);
    const now = performance.now();
    for (const [project, { last, longest }] of pauses) {
      const ms = Math.max(longest, now - last);
      if (homes.get(project) !== shard) own["others"]!.push(ms);
      else own[shard === "main" ? "main" : "further"]!.push(ms);
    }
    services.push(await start());
  }
  const of = (all: number[]) => ({
    rounds: all.length,
    "median ms": short(median(all)),
    "most ms": short(Math.max(0, ...all)),
  });
  console.log(`\n${signal}, a lease of ${lease} s, control plane on ${databases ? "Postgres" : "SQLite"}`);
  console.table({
    "the first database": of(own["main"]!),
    "a further database": of(own["further"]!),
    "databases of the others": of(own["others"]!),
  });
}
state.isEnding = true;
await Promise.all(clients);
for (const service of services) await service.stop();
await control.close();
await engine.close();
await databases?.drop();
rmSync(root, { recursive: true, force: true });
console.log(describeMachine());
