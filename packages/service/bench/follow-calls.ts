/**
 * Pages of calls and tails, of the built service over a socket.
 *
 * - pages: calls with two leaves at depth 0, in the middle and at the end, by cursor beside the same rows by offset, in the order
 *   of time, of latency, of a column and of a path; medians of `rounds`, in turns
 * - tails: from the response of a write to the event at a reader, at 50 and 2,000 calls a second with 0, 1 and 20 readers, and
 *   what four connections ingest meanwhile as fast as they can, with the CPU time of service and engine. Readers there drop what
 *   comes, since the machine is theirs, too
 *
 *   pnpm bench:follow [--calls 100000] [--seconds 10] [--rounds 15] [--only pages|tails] [--checkout <built checkout>]
 */
import { setMaxListeners } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { callsTail, connectTracing } from "@heddle/client/tracing";
import { newId } from "@heddle/trace-model";
import { send, sendAll } from "./load.js";
import type { ReadyRequest } from "./load.js";
import { multiplyCalls } from "./multiply-calls.js";
import { completeRequests } from "./payloads.js";
import { cpuMs } from "./process-usage.js";
import { describeMachine, median, option, quantile, short, text } from "./results.js";
import { startServiceProcess } from "./service-process.js";

const callCount = option("calls", 100_000);
const seconds = option("seconds", 10);
const rounds = option("rounds", 15);
const only = text("only", "");
const project = "local/bench";

console.log(describeMachine());
const checkout = text("checkout", "");
const service = await startServiceProcess(checkout === "" ? {} : { checkout });
const headers = { "content-type": "application/json" };
if (only !== "tails") {
  await multiplyCalls(service, project, callCount);
  await measurePages();
}
if (only !== "pages") await measureTails();
console.log(describeMachine());
await service.stop();
process.exit(0);

interface Page {
  calls: Array<{ id: string }>;
  next?: string;
  previous?: string;
}

async function ask<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${service.url}${path}`, {
    method: "POST",
    headers: { ...headers, authorization: `Bearer ${service.key}` },
    body: JSON.stringify({ project_id: project, ...body }),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** Medians of some works, which take turns. */
async function timed(works: Readonly<Record<string, () => Promise<unknown>>>): Promise<Record<string, number>> {
  const times = new Map<string, number[]>(Object.keys(works).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, work] of Object.entries(works)) {
      const start = performance.now();
      await work();
      times.get(name)?.push(performance.now() - start);
    }
  }
  return Object.fromEntries(Array.from(times, ([name, each]) => [name, short(median(each))]));
}

async function measurePages(): Promise<void> {
  const { count } = await ask<{ count: number }>("/calls/query_stats", {});
  const select = ["inputs.model", "output.choices.0.message.content"];
  const page = { select, preview_chars: 200, limit: 100 };
  const columns = ["inputs", "output"];
  const orders = {
    "newest first": [{ field: "started_at", direction: "desc" }],
    "by latency": [{ field: "summary.weave.latency_ms", direction: "desc" }],
    "by op": [{ field: "op_name", direction: "asc" }],
    "by a path": [{ field: "attributes.seed", direction: "desc" }],
  };
  const table: Record<string, object> = {};
  for (const [name, order] of Object.entries(orders)) {
    for (const depth of [0, Math.floor(count / 9), Math.floor(count * 0.9)]) {
      const start = depth === 0 ? {} : await cursorAt(order, depth, count);
      table[`${name}, depth ${depth}`] = await timed({
        "by cursor, ms": () => ask("/calls/page", { ...page, sort_by: order, ...start }),
        "by offset, ms": () => ask("/calls/query", { columns, sort_by: order, limit: 100, offset: depth }),
      });
    }
  }
  const newest = { sort_by: orders["newest first"] };
  table["newest first, total exact"] = await timed({
    "by cursor, ms": () => ask("/calls/page", { ...page, ...newest, total: "exact" }),
  });
  console.log(
    `\n${count} calls of about 2 KB; pages of 100 with two leaves, beside inputs and output of the same rows`,
  );
  console.table(table);
}

/** Walks there in pages of keys, from the nearer end. */
async function cursorAt(order: object[], depth: number, count: number): Promise<object> {
  if (depth > count / 2) {
    let before: string | undefined = "end";
    for (let left = count - depth; left > 0; left -= 1000) {
      const limit = Math.min(1000, left);
      before = (await ask<Page>("/calls/page", { sort_by: order, before, limit, select: [] })).previous;
    }
    return { before };
  }
  let after: string | undefined;
  for (let passed = 0; passed < depth; passed += 1000) {
    const limit = Math.min(1000, depth - passed);
    after = (await ask<Page>("/calls/page", { sort_by: order, after, limit, select: [] })).next;
  }
  return { after };
}

async function measureTails(): Promise<void> {
  const table: Record<string, object> = {};
  for (const perSecond of [50, 2000]) {
    for (const readers of [0, 1, 20])
      table[`${perSecond} calls/s, ${readers} readers`] = await measureTail(perSecond, readers);
  }
  const ingests = new Map<number, Ingest[]>([0, 1, 20].map((readers) => [readers, []]));
  for (let turn = 0; turn < 3; turn++) {
    for (const [readers, found] of ingests) found.push(await measureIngest(readers));
  }
  for (const [readers, found] of ingests) {
    const of = (name: keyof Ingest) => short(median(found.map((each) => each[name])));
    table[`as fast as possible, ${readers} readers`] = {
      "calls/s": of("calls/s"),
      "µs CPU of the service": of("µs CPU of the service"),
      "of the engine": of("of the engine"),
    };
  }
  console.log("\nfrom the response of the write to the event at a reader");
  console.table(table);
}

/** Readers of one project, each with the same request, and when each call came. */
async function startReaders(count: number, projectId: string) {
  const leaving = new AbortController();
  setMaxListeners(0, leaving.signal);
  const came = new Map<string, number[]>();
  const connection = connectTracing({ baseUrl: service.url, apiKey: service.key });
  const ready = new Set<number>();
  const reading = Array.from({ length: count }, async (_, reader) => {
    const request = { project_id: projectId, select: ["name", "status"] };
    for await (const { kind, id = "" } of callsTail(connection, request, { signal: leaving.signal })) {
      if (kind === "caught_up") ready.add(reader);
      if (kind !== "changed") continue;
      const times = came.get(id) ?? [];
      times.push(performance.now());
      came.set(id, times);
    }
  });
  const ended = Promise.allSettled(reading);
  while (ready.size < count) await delay(5);
  return {
    came,
    async stop() {
      leaving.abort(new Error("measured"));
      await ended;
    },
  };
}

async function measureTail(perSecond: number, readerCount: number): Promise<object> {
  const projectId = `local/tail-${perSecond}-${readerCount}`;
  const readers = await startReaders(readerCount, projectId);
  const acknowledged = new Map<string, number>();
  // A connection that was idle before may be closed as it is used.
  const agent = new Agent({ keepAlive: true });
  const size = Math.max(1, Math.round(perSecond / 50));
  const sending: Promise<void>[] = [];
  const write = async (request: ReadyRequest, ids: readonly string[]) => {
    await send(service, agent, request);
    for (const id of ids) acknowledged.set(id, performance.now());
  };
  const began = performance.now();
  for (let sent = 0; performance.now() - began < seconds * 1000; sent++) {
    const { ids, request } = readyWrite(projectId, size);
    sending.push(write(request, ids));
    await delay(Math.max(0, began + (sent + 1) * ((1000 * size) / perSecond) - performance.now()));
  }
  await Promise.all(sending);
  agent.destroy();
  await delay(1000);
  await readers.stop();
  const waits = [...acknowledged].flatMap(([id, at]) =>
    (readers.came.get(id) ?? []).map((time) => Math.max(0, time - at)),
  );
  const expected = acknowledged.size * readerCount;
  return {
    calls: acknowledged.size,
    ...(readerCount > 0 && {
      "p50 ms": short(quantile(waits, 0.5)),
      "p99 ms": short(quantile(waits, 0.99)),
      missed: expected - waits.length,
    }),
  };
}

function readyWrite(projectId: string, size: number): { ids: string[]; request: ReadyRequest } {
  const ids = Array.from({ length: size }, () => newId());
  const time = new Date().toISOString();
  const batch = ids.map((id) => ({
    project_id: projectId,
    id,
    trace_id: id,
    op_name: "bench",
    started_at: time,
    ended_at: time,
    attributes: {},
    inputs: { text: "x".repeat(1000) },
    output: "y".repeat(500),
    summary: {},
  }));
  const bytes = Buffer.from(JSON.stringify({ batch }));
  return { ids, request: { path: `/v2/${projectId}/calls/complete`, headers, bytes } };
}

interface Ingest {
  "calls/s": number;
  "µs CPU of the service": number;
  "of the engine": number;
}

/** Calls a second over four connections, and CPU time per call. */
async function measureIngest(readerCount: number): Promise<Ingest> {
  const projectId = `local/ingest-${newId()}`;
  const requests = completeRequests(projectId, 40 * seconds, 50);
  const leave = await dropTails(readerCount, projectId);
  const used = () => [performance.now(), cpuMs(service.pid), cpuMs(service.enginePid())] as const;
  const before = used();
  await sendAll(service, requests, 4);
  const [took = 0, ofService = 0, ofEngine = 0] = used().map((value, index) => value - (before[index] ?? 0));
  leave();
  const count = requests.length * 50;
  return {
    "calls/s": (count * 1000) / took,
    "µs CPU of the service": (ofService * 1000) / count,
    "of the engine": (ofEngine * 1000) / count,
  };
}

/** Readers who read as fast as they can, and look at nothing. */
async function dropTails(count: number, projectId: string): Promise<() => void> {
  const body = JSON.stringify({ project_id: projectId, select: ["name", "status"] });
  const open = Array.from({ length: count }, async () => {
    const outgoing = httpRequest(`${service.url}/calls/tail`, {
      method: "POST",
      headers: { ...headers, authorization: `Bearer ${service.key}`, "accept-encoding": "gzip" },
    });
    outgoing.on("error", () => undefined).end(body);
    await new Promise<void>((resolve) => {
      outgoing.once("response", (response) => {
        response.on("error", () => undefined).on("data", () => resolve());
      });
    });
    return outgoing;
  });
  const tails = await Promise.all(open);
  return () => tails.forEach((each) => each.destroy());
}
