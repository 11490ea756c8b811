import { readFileSync } from "node:fs";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { randomUUID } from "node:crypto";
import { afterEach, expect, test, vi } from "vitest";
import { openHarness } from "./engine-harness.js";
import { openHeddle, ownerKey } from "./heddle-process.js";
import { wire } from "./wire.js";
import type { Reply, Wire } from "./wire.js";

// Every step starts processes; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const projectId = "faults/connections";
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface Attacker {
  socket: Socket;
  received: () => string;
  closed: () => boolean;
}

/** A connection that sends this and then nothing. */
function attack(url: string, text: string): Attacker {
  const socket = connect(Number(new URL(url).port), "127.0.0.1").setEncoding("latin1");
  let received = "";
  socket.on("data", (chunk: string) => (received += chunk)).on("error", () => undefined);
  socket.write(text);
  sockets.push(socket);
  return { socket, received: () => received, closed: () => socket.closed };
}

const uploadHead = (bytes: number) =>
  `POST /call/start HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${ownerKey}\r\ncontent-length: ${bytes}\r\n\r\n`;

/** Sends again what got 503, after the time that the response names, as clients do; twice at most. */
async function patiently(send: () => Promise<Reply>): Promise<Reply> {
  for (let tries = 0; ; tries++) {
    const reply = await send();
    if (reply.status !== 503 || tries === 2) return reply;
    await delay(Number(reply.headers.get("retry-after")) * 1000);
  }
}

/** Clients that keep a connection have to expect that it is closed between requests; these do not keep any. */
const close = { connection: "close" };

/** A write and a read of somebody else, on connections of their own. */
async function useService(client: Wire): Promise<Reply[]> {
  const start = {
    project_id: projectId,
    id: randomUUID(),
    trace_id: "t",
    op_name: "work",
    started_at: new Date().toISOString(),
    attributes: {},
    inputs: {},
  };
  return [
    await patiently(() => client.post("/call/start", { start }, close)),
    await patiently(() => client.post("/call/read", { project_id: projectId, id: start.id }, close)),
  ];
}

const statuses = (replies: Reply[]) => replies.map(({ status, text }) => (status === 200 ? 200 : `${status} ${text}`));

test("connections that are half open, or send a body byte by byte, keep nobody out, and end at a deadline", async () => {
  const heddle = await openHeddle({
    env: { HEDDLE_MAX_CONNECTIONS: "40", HEDDLE_HEADERS_TIMEOUT: "2", HEDDLE_BODY_TIMEOUT: "2" },
  });
  try {
    const client = wire(heddle.url);
    const halfOpen = Array.from({ length: 200 }, () => attack(heddle.url, "POST /call/start HTTP/1.1\r\nhost: a\r\n"));
    for (let round = 0; round < 5; round++) expect(statuses(await useService(client))).toEqual([200, 200]);

    const uploads = Array.from({ length: 200 }, () => attack(heddle.url, uploadHead(1_000_000)));
    const trickle = setInterval(() => uploads.forEach(({ socket }) => socket.writable && socket.write("{")), 50);
    for (let round = 0; round < 5; round++) expect(statuses(await useService(client))).toEqual([200, 200]);
    clearInterval(trickle);
    await expect.poll(() => halfOpen.filter(({ closed }) => !closed()), { timeout: 20_000 }).toEqual([]);
    const stalled = () => uploads.find(({ received }) => received().startsWith("HTTP/1.1 408"));
    await expect.poll(stalled, { timeout: 20_000 }).toBeDefined();
    expect(stalled()?.received()).toContain("no byte within 2 s (HEDDLE_BODY_TIMEOUT)");
    // Those that were closed for others got a response, and those at the deadline as well.
    const responses = new Set(uploads.map(({ received }) => received().slice(9, 12)));
    expect([...responses].filter((status) => !["", "408", "503"].includes(status))).toEqual([]);
  } finally {
    await heddle.remove();
  }
});

test("forty unfinished uploads of 33 MB hold no more than the memory for bodies", async () => {
  const heddle = await openHeddle();
  try {
    const client = wire(heddle.url);
    await useService(client);
    const size = 32 * 1024 * 1024;
    const chunk = Buffer.alloc(1 << 20, 32);
    const uploads = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const upload = attack(heddle.url, uploadHead(size));
        for (let sent = chunk.length; sent < size && upload.socket.writable; sent += chunk.length) {
          await new Promise<void>((resolve) => upload.socket.write(chunk, () => resolve()));
        }
        return upload;
      }),
    );
    expect(statuses(await useService(client))).toEqual([200, 200]);
    await delay(100);
    expect(residentBytes(heddle.pid())).toBeLessThan(600e6);
    const refused = uploads.filter(({ received }) => received().startsWith("HTTP/1.1 503"));
    expect(refused.length).toBeGreaterThanOrEqual(36);
    expect(refused[0]?.received()).toMatch(
      /\r\nretry-after: 1\r\n[^]*at most 134217728 bytes of them \(HEDDLE_BODY_MEMORY\)/i,
    );
  } finally {
    await heddle.remove();
  }
});

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
}

test("a process that may open few files never runs out of them: 200, or 503 with Retry-After", async () => {
  const harness = await openHarness({ openFiles: 400 });
  try {
    const client = wire(harness.url);
    for (let count = 0; count < 300; count++) attack(harness.url, "GET /health HTTP/1.1\r\nhost: a\r\n");
    const upload = async () => {
      const form = new FormData();
      form.append("project_id", projectId);
      form.append("file", new Blob([randomUUID().repeat(2000)]), "a.txt");
      return [await client.post("/file/create", form, close), ...(await useService(client))];
    };
    const replies = (await Promise.all(Array.from({ length: 100 }, upload))).flat();
    const outcomes = replies.map(({ status, headers, text }) =>
      status === 503 ? headers.get("retry-after") : status === 200 ? 200 : `${status} ${text}`,
    );
    expect(outcomes.filter((outcome) => outcome !== 200 && outcome !== "1")).toEqual([]);
    expect(outcomes.filter((outcome) => outcome === 200).length).toBeGreaterThan(100);
    // A client that retries gets all of it.
    expect(statuses(await useService(client))).toEqual([200, 200]);
  } finally {
    await harness.close();
  }
});
