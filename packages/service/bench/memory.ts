/**
 * Resident memory of the service and of its engine host: idle, after many calls were written, during a stream of
 * 300 MB to a client that reads as fast as it can and to a slow one, and under queries that want more than the engine
 * may use. Linux only (reads /proc).
 *
 *   pnpm build && node --import tsx -C @heddle/source packages/service/bench/memory.ts [--calls 1000000] [--stream-mb 300] [--engine-memory-mb 1500]
 */
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { describeMachine, megabytes, option, short } from "./results.js";
import { send, sendAll } from "./load.js";
import { completeRequests } from "./payloads.js";
import { forgetPeak, openFiles, resident } from "./process-usage.js";
import { startServiceProcess } from "./service-process.js";

const calls = option("calls", 100_000);
const streamBytes = option("stream-mb", 300) * 1e6;
const cap = option("engine-memory-mb", 1500) * 1e6;
const project = "local/memory";

console.log(describeMachine());
const service = await startServiceProcess({ env: { HEDDLE_ENGINE_MEMORY: `${megabytes(cap)}MB` } });
const table: Record<string, Record<string, number | string>> = {};

await delay(3000);
note("idle after the start");
await write(calls);
note(`after ${calls} calls`);
await delay(10_000);
forget();
note("10 s later");
await measureStream("a stream, read at full speed", 0);
await measureStream("a stream, read slowly", 2);
await measureHungryQueries();
await delay(10_000);
forget();
note("10 s later again");
console.log(`\nMB of resident memory; the engine host may use ${megabytes(cap)} (HEDDLE_ENGINE_MEMORY)`);
console.table(table);
console.log(describeMachine());
await service.stop();

function note(name: string, more: Record<string, number | string> = {}): void {
  const [serviceUsage, engine] = [resident(service.pid), resident(service.enginePid())];
  table[name] = {
    service: megabytes(serviceUsage.bytes),
    "service peak": megabytes(serviceUsage.peak),
    engine: megabytes(engine.bytes),
    "engine peak": megabytes(engine.peak),
    threads: engine.threads,
    files: openFiles(service.enginePid()),
    ...more,
  };
}

function forget(): void {
  forgetPeak(service.pid);
  forgetPeak(service.enginePid());
}

async function write(calls: number): Promise<void> {
  const block = 10_000;
  for (let done = 0; done < calls; done += block) {
    await sendAll(service, completeRequests(project, Math.min(block, calls - done) / 100, 100), 4);
  }
}

/** Asks for calls until enough bytes have come, stopping after each chunk for so many milliseconds. */
async function measureStream(name: string, pauseMs: number): Promise<void> {
  forget();
  const limit = Math.ceil(streamBytes / 3000);
  const start = performance.now();
  let bytes = 0;
  while (bytes < streamBytes) bytes += await readStream(limit, pauseMs);
  const seconds = (performance.now() - start) / 1000;
  note(name, { MB: megabytes(bytes), "MB/s": short(bytes / 1e6 / seconds) });
}

function readStream(limit: number, pauseMs: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({ project_id: project, limit });
    const outgoing = request(
      `${service.url}/calls/stream_query`,
      { method: "POST", headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" } },
      (response) => {
        let bytes = 0;
        const read = async () => {
          for await (const chunk of response) {
            bytes += (chunk as Buffer).length;
            if (pauseMs > 0) await delay(pauseMs);
          }
          if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
          return bytes;
        };
        read().then(resolve, reject);
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Sorts of whole payloads, several at once: more than the cap allows; each succeeds or is refused, no process ends. */
async function measureHungryQueries(): Promise<void> {
  forget();
  const agent = new Agent({ keepAlive: true });
  const sql = `SELECT * FROM trace.calls ORDER BY cityHash64(inputs) SETTINGS max_bytes_before_external_sort = 0 FORMAT Null`;
  const enginePid = service.enginePid();
  const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => service.engine(sql)));
  const refused = outcomes.filter(({ status }) => status === "rejected").length;
  await sendAll(service, completeRequests(project, 1, 1), 1);
  await send(service, agent, {
    path: "/calls/query_stats",
    headers: { "content-type": "application/json" },
    bytes: Buffer.from(JSON.stringify({ project_id: project })),
  });
  agent.destroy();
  const restarted = service.enginePid() !== enginePid;
  note("6 large sorts at once", { refused: `${refused}${restarted ? ", host restarted" : ""}` });
}
