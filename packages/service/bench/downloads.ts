/**
 * Rows per second and memory of exports, streams plain and compressed, and the list of projects, over HTTP.
 *
 *   pnpm build && node --import tsx -C @heddle/source packages/service/bench/downloads.ts [--calls 100000] [--projects 100]
 */
import { get, request } from "node:http";
import type { IncomingMessage } from "node:http";
import { describeMachine, median, megabytes, option, short } from "./results.js";
import { sendAll } from "./load.js";
import { completeRequests } from "./payloads.js";
import { forgetPeak, resident } from "./process-usage.js";
import { startServiceProcess } from "./service-process.js";

const calls = option("calls", 100_000);
const projects = option("projects", 100);
const project = "local/downloads";

console.log(describeMachine());
const service = await startServiceProcess();
for (let done = 0; done < calls; done += 10_000)
  await sendAll(service, completeRequests(project, Math.min(10_000, calls - done) / 100, 100), 4);
const table: Record<string, Record<string, number | string>> = {};

const select = ["id", "name", "status", "started_at", "latency_ms", "inputs.messages"];
await measure("export, jsonl", async () => await download({}));
await measure("export, jsonl of six columns", async () => await download({ select }));
await measure("export, csv of six columns", async () => await download({ format: "csv", select }));
await measure("export, csv of everything", async () => await download({ format: "csv" }));
for (const encoding of ["identity", "gzip"])
  await measure(
    `stream, ${encoding}`,
    async () => await post("/calls/stream_query", { project_id: project }, encoding),
  );
for (let n = 0; n < projects; n++) {
  const obj = { project_id: `local/p${n}`, object_id: "o", val: 1 };
  await read(await post("/obj/create", { obj }));
}
const times: number[] = [];
for (let n = 0; n < 50; n++) {
  const began = performance.now();
  await read(await post("/projects/query", {}));
  times.push(performance.now() - began);
}
console.table(table);
console.log(`projectsQuery of ${projects + 1} projects: median ${short(median(times))} ms`);
console.log(describeMachine());
await service.stop();

async function measure(name: string, open: () => Promise<IncomingMessage>): Promise<void> {
  await read(await open());
  forgetPeak(service.pid);
  const began = performance.now();
  const bytes = await read(await open());
  const seconds = (performance.now() - began) / 1000;
  table[name] = {
    "rows/s": Math.round(calls / seconds),
    "MB sent": megabytes(bytes),
    "service peak, MB": megabytes(resident(service.pid).peak),
  };
}

async function download(more: object): Promise<IncomingMessage> {
  const response = await post("/exports", { project_id: project, ...more });
  let text = "";
  for await (const chunk of response) text += String(chunk);
  const { url } = JSON.parse(text) as { url: string };
  return await new Promise((resolve, reject) => get(url, resolve).on("error", reject));
}

async function post(path: string, body: object, encoding = "identity"): Promise<IncomingMessage> {
  return await new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${service.key}`,
      "content-type": "application/json",
      "accept-encoding": encoding,
    };
    request(`${service.url}${path}`, { method: "POST", headers }, resolve)
      .on("error", reject)
      .end(JSON.stringify(body));
  });
}

async function read(response: IncomingMessage): Promise<number> {
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).length;
  return bytes;
}
