/**
 * Reads of the same OpenTelemetry spans by this service, Arize Phoenix and MLflow, each on its own store with its own settings;
 * the peers as PyPI has them. The reads alternate, each time of another trace; medians of the milliseconds, and the bytes of a
 * response. Rows that a service has no read for stay empty.
 *
 * `--rest` is how many seconds after the first reads it begins. `--data` keeps what was sent in a directory, and a run sends
 * only what is missing there; with `--only-send` it reads nothing. Of many spans, `peers/multiply.py` makes most of those that
 * would take the peers hours.
 *
 *   pnpm build && node --import tsx -C @heddle/source packages/service/bench/peer-reads.ts [--spans 26000] [--rounds 25] [--rest 10] [--services Heddle,Phoenix,MLflow] [--before <built checkout>] [--venvs <directory>] [--data <directory>] [--only-send]
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { forEachConcurrently } from "@heddle/concurrency";
import { describeMachine, median, option, quantile, short, text } from "./results.js";
import { exportedTraces, spansPerTrace, tracedAt } from "./peers/exported-traces.js";
import { startHeddle } from "./peers/heddle.js";
import { startMlflow } from "./peers/mlflow.js";
import { readNames } from "./peers/peer.js";
import type { Peer, Read, ReadName } from "./peers/peer.js";
import { startPhoenix } from "./peers/phoenix.js";

const traceCount = Math.round(option("spans", 26_000) / spansPerTrace);
const rounds = option("rounds", 25);
const spans = traceCount * spansPerTrace;
const data = text("data", "");
const kept = new Agent({ keepAlive: true });

class Refused extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** How many traces each service was sent. */
const sent = readSent();
/** The last one ends now, as if it had just been recorded. */
const firstMs = Date.now() - traceCount * 1000;

console.log(describeMachine());
const directoryOf = (name: string) => (data === "" ? undefined : join(data, name));
const starts = { Heddle: startHeddle, Phoenix: startPhoenix, MLflow: startMlflow };
const before = text("before", "");
const peers: Peer[] = before === "" ? [] : [await startHeddle(directoryOf("before"), before)];
for (const [name, start] of Object.entries(starts)) {
  if (!text("services", "Heddle,Phoenix,MLflow").includes(name)) continue;
  const peer = await start(directoryOf(name));
  if (peer !== undefined) peers.push(peer);
}
await fill();
if (process.argv.includes("--only-send")) {
  await end();
  process.exit(0);
}
const table: Record<string, Record<string, string>> = {};
for (const name of readNames) table[name] = await compare(name);
console.log(
  `\n${spans} spans in ${traceCount} traces; ${rounds} rounds; ms as median (fastest tenth), bytes of a response`,
);
console.log(peers.map(({ name, version }) => `${name} ${version}`).join(", "));
console.table(table);
console.log(describeMachine());
await end();

async function end(): Promise<void> {
  kept.destroy();
  await Promise.all(peers.map((peer) => peer.stop()));
}

function readSent(): Record<string, number> {
  if (data !== "") mkdirSync(data, { recursive: true });
  const file = join(data, "sent.json");
  return data !== "" && existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Record<string, number>) : {};
}

async function fill(): Promise<void> {
  for (const peer of peers) {
    const began = performance.now();
    const from = sent[peer.name] ?? 0;
    await forEachConcurrently(exportedTraces(from, traceCount, firstMs), peer.exportsAtOnce, async (bytes) => {
      // Others take seconds, after which a server may just have closed a connection that was kept.
      const fresh = { agent: undefined, method: "POST", contentType: "application/x-protobuf", bytes };
      await sendWithRetries(peer, { ...peer.exports, ...fresh });
    });
    await stored(peer);
    sent[peer.name] = traceCount;
    if (data !== "") writeFileSync(join(data, "sent.json"), JSON.stringify(sent));
    const seconds = (performance.now() - began) / 1000;
    console.log(`${peer.name}: ${(traceCount - from) * spansPerTrace} spans sent in ${seconds.toFixed(0)} s`);
  }
  // After the first reads, and writes, services do some work in the background.
  await delay(option("rest", 10) * 1000);
}

/** Some respond before they have stored what was sent. */
async function stored(peer: Peer): Promise<void> {
  const wanted = tracedAt(traceCount - 1);
  for (let tries = 0; ; tries++) {
    try {
      for (const name of ["count", "a new trace"] as const) {
        const read = peer.reads[name]?.(wanted, spans);
        if (read !== undefined) await measure(peer, read);
      }
      return;
    } catch (error) {
      if (tries > 600) throw error;
      await delay(500);
    }
  }
}

async function compare(name: ReadName): Promise<Record<string, string>> {
  const times = new Map<Peer, number[]>();
  const sizes = new Map<Peer, number>();
  for (let round = -3; round < rounds; round++) {
    // Of the first tenth or of the last one, as far as `peers/multiply.py` leaves them.
    const part = Math.floor(Math.random() * Math.min(300, traceCount / 10));
    const wanted = tracedAt(name.startsWith("an old") ? part : traceCount - 1 - part);
    // Whoever comes after another finds the caches of the machine as that one left them.
    const order = peers.map((_, index) => peers[(index + Math.abs(round)) % peers.length]);
    for (const peer of order) {
      const read = peer?.reads[name]?.(wanted, spans);
      if (peer === undefined || read === undefined) continue;
      const { ms, bytes } = await measure(peer, read);
      sizes.set(peer, bytes);
      if (round >= 0) times.set(peer, [...(times.get(peer) ?? []), ms]);
    }
  }
  const row: Record<string, string> = {};
  for (const peer of peers) {
    const ms = times.get(peer);
    if (ms !== undefined) row[peer.name] = `${short(median(ms))} (${short(quantile(ms, 0.1))})`;
    const bytes = sizes.get(peer);
    if (bytes !== undefined) row[`${peer.name}, bytes`] = String(bytes);
  }
  return row;
}

/** Rejects when the response does not have what it should. */
async function measure(peer: Peer, { path, method = "POST", body, count, expected }: Read) {
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const began = performance.now();
  const response = await send(peer, { agent: kept, path, method, bytes, contentType: "application/json" });
  const ms = performance.now() - began;
  const found = count(JSON.parse(response.toString()) as never);
  if (found !== expected) throw new Error(`${peer.name}, ${path}: ${found} instead of ${expected}`);
  return { ms, bytes: response.length };
}

interface Sent {
  path: string;
  method: string;
  contentType: string;
  headers?: Record<string, string>;
  bytes: Buffer | undefined;
  agent: Agent | undefined;
}

/** As an exporter of OpenTelemetry does: what a server refuses since it is busy is sent again. */
async function sendWithRetries(peer: Peer, sent: Sent): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await send(peer, sent);
      return;
    } catch (error) {
      if (!(error instanceof Refused) || ![429, 503].includes(error.status) || tries === 600) throw error;
      await delay(500);
    }
  }
}

function send(peer: Peer, { path, method, contentType, headers, bytes, agent }: Sent): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const content = bytes && { "content-type": contentType, "content-length": bytes.length };
    const outgoing = request(
      `${peer.url}${path}`,
      { agent: agent ?? false, method, headers: { ...peer.headers, ...headers, ...content } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const whole = Buffer.concat(chunks);
          const status = response.statusCode ?? 500;
          if (status < 300) resolve(whole);
          else reject(new Refused(`${peer.name}, ${path}: ${status} ${whole.toString("utf8", 0, 300)}`, status));
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(bytes);
  });
}
