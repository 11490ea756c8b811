import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { fileURLToPath } from "node:url";

// CPU time per request of a validated POST with 2 KB of JSON: bare node:http, the stub and Fastify, alternating.
// Both run compiled, since tsx makes every inner function dearer. Build first, then:
// npx -y pnpm@10.34.9 exec tsx packages/server-stub/bench/requests.ts [requests per round]

const count = Number(process.argv[2] ?? 3000);
const connections = 16;
/** As many that a neighbour who wants the machine for some seconds moves no median. */
const rounds = 9;
/** Requests until node has compiled what is used. */
const warmAfter = 6000;
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const start = { project_id: "acme/demo", op_name: "chat", started_at: "2026-04-10T09:00:00Z", attributes: {} };
const body = JSON.stringify({ start: { ...start, inputs: { text: "x".repeat(1900) } } });

const servers = await Promise.all(["bare", "stub", "fastify"].map(startServer));
for (const server of servers) await round(server, warmAfter);
const costs = new Map<string, number[]>(servers.map(({ kind }) => [kind, []]));
for (let index = 0; index < rounds; index++) {
  for (const server of servers) costs.get(server.kind)?.push(await round(server, count));
}
const median = (list: number[] = []) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? NaN;
const base = median(costs.get("bare"));
for (const [kind, list] of costs) {
  const costs = list.map((cost) => cost.toFixed(0)).join(" ");
  console.log(
    `${kind.padEnd(7)} ${median(list).toFixed(1)} µs CPU per request, ${(median(list) / base).toFixed(2)} of bare   (${costs})`,
  );
}
for (const { child } of servers) child.disconnect();
agent.destroy();

interface Server {
  kind: string;
  child: ChildProcess;
  port: number;
}

async function startServer(kind: string): Promise<Server> {
  const path = fileURLToPath(new URL("request-server.ts", import.meta.url));
  const child = fork(path, [kind], { execArgv: process.execArgv });
  const [port] = (await once(child, "message")) as [number];
  return { kind, child, port };
}

/** Microseconds of CPU that the server spends on each of `count` requests. */
async function round({ child, port }: Server, count: number): Promise<number> {
  const before = await cpu(child);
  let left = count;
  const worker = async () => {
    while (left-- > 0) await post(port);
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return ((await cpu(child)) - before) / count;
}

async function cpu(child: ChildProcess): Promise<number> {
  child.send("cpu");
  const [{ user, system }] = (await once(child, "message")) as [NodeJS.CpuUsage];
  return user + system;
}

function post(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      authorization: "Bearer k",
      "content-length": Buffer.byteLength(body),
    };
    const outgoing = request({ port, agent, method: "POST", path: "/call/start", headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      response.resume().on("end", resolve);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
