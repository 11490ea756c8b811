/**
 * Reads of the same OpenTelemetry spans by this service, Arize Phoenix and MLflow, each on its own store with its own settings;
 * the peers as PyPI has them. The reads alternate, each time of another trace; medians of the milliseconds, and the bytes of a
 * response. Rows that a service has no read for stay empty.
 *
 *   pnpm build && node --import tsx -C @heddle/source packages/service/bench/peer-reads.ts [--spans 26000] [--rounds 25] [--services Heddle,Phoenix,MLflow] [--before <built checkout>] [--venvs <directory>]
 */
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { describeMachine, median, option, quantile, short, text } from "./results.js";
import { exportedTraces, spansPerTrace } from "./peers/exported-traces.js";
import type { RecordedTrace } from "./peers/exported-traces.js";
import { startHeddle } from "./peers/heddle.js";
import { startMlflow } from "./peers/mlflow.js";
import { readNames } from "./peers/peer.js";
import type { Peer, Read, ReadName } from "./peers/peer.js";
import { startPhoenix } from "./peers/phoenix.js";

const traceCount = Math.round(option("spans", 26_000) / spansPerTrace);
const rounds = option("rounds", 25);
const spans = traceCount * spansPerTrace;
/** Each trace is kept with this chance, to be read. */
const sampled: RecordedTrace[] = [];
const kept = new Agent({ keepAlive: true });

console.log(describeMachine());
const starts = { Heddle: () => startHeddle(), Phoenix: startPhoenix, MLflow: startMlflow };
const before = text("before", "");
const peers: Peer[] = before === "" ? [] : [await startHeddle(before)];
for (const [name, start] of Object.entries(starts)) {
  const peer = text("services", "Heddle,Phoenix,MLflow").includes(name) ? await start() : undefined;
  if (peer !== undefined) peers.push(peer);
}
await fill();
const table: Record<string, Record<string, string>> = {};
for (const name of readNames) table[name] = await compare(name);
console.log(
  `\n${spans} spans in ${traceCount} traces; ${rounds} rounds; ms as median (fastest tenth), bytes of a response`,
);
console.log(peers.map(({ name, version }) => `${name} ${version}`).join(", "));
console.table(table);
console.log(describeMachine());
kept.destroy();
await Promise.all(peers.map((peer) => peer.stop()));

async function fill(): Promise<void> {
  let sent = 0;
  for (const { bytes, traces } of exportedTraces(traceCount)) {
    for (const peer of peers) {
      // Others take seconds, after which a server may just have closed a connection that was kept.
      const fresh = { agent: undefined, method: "POST", contentType: "application/x-protobuf", bytes };
      await sendWithRetries(peer, { ...peer.exports, ...fresh });
    }
    sent += traces.length;
    if (sampled.length < 200) sampled.push(...traces.slice(0, 2));
    else for (const trace of traces) if (Math.random() < 200 / sent) sampled[Math.floor(Math.random() * 200)] = trace;
  }
  for (const peer of peers) await stored(peer);
  // Of what they do after writes.
  await delay(10_000);
}

/** Some respond before they have stored what was sent. */
async function stored(peer: Peer): Promise<void> {
  const wanted = sampled.at(-1);
  for (let tries = 0; ; tries++) {
    try {
      for (const name of ["count", "one trace"] as const) {
        const read = wanted && peer.reads[name]?.(wanted, spans);
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
    const wanted = sampled[Math.floor(Math.random() * sampled.length)];
    // Whoever comes after another finds the caches of the machine as that one left them.
    const order = peers.map((_, index) => peers[(index + Math.abs(round)) % peers.length]);
    for (const peer of order) {
      const read = wanted && peer?.reads[name]?.(wanted, spans);
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

class Refused extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
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
