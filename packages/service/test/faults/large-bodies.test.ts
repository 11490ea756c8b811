import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import type { IncomingMessage } from "node:http";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownerKey } from "./heddle-process.js";
import { controlPlanes, openReplicas, replicaNames } from "./replica-set.js";
import type { ReplicaName, ReplicaSet } from "./replica-set.js";

// What is large goes through a replica that does not work on it, and stays in nobody's memory.

const megabyte = 1024 * 1024;
const megabytes = 300;
/** Of a process, besides what it has anyway: buffers of connections, and what waits for the garbage collector. */
const mostMore = 150 * megabyte;
const authorization = `Bearer ${ownerKey}`;
const where = "/v1/artifacts/local/large";

let set: ReplicaSet;
beforeAll(async () => (set = await openReplicas(controlPlanes[0][1])), 120_000);
afterAll(async () => await set.remove());

/** Each megabyte is another one. */
const piece = (i: number): Buffer => Buffer.alloc(megabyte, `${i} of the pieces `);

function memoryOf(name: ReplicaName): number {
  const status = readFileSync(`/proc/${set.replicas[name].pid()}/status`, "utf8");
  return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]);
}

/** By how many bytes the memory of each replica grew at most, while something was done. */
async function growth(work: () => Promise<void>): Promise<Record<ReplicaName, number>> {
  const before = new Map(replicaNames.map((name) => [name, memoryOf(name)]));
  const most: Record<ReplicaName, number> = { a: 0, b: 0, c: 0 };
  const look = () => {
    for (const [name, bytes] of before) most[name] = Math.max(most[name], memoryOf(name) - bytes);
  };
  const timer = setInterval(look, 20);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  look();
  return most;
}

async function send(name: ReplicaName, path: string, pieces: number): Promise<{ status: number; text: string }> {
  const sent = http.request(`${set.urlOf(name)}${path}`, { method: "POST", headers: { authorization } });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  for (let i = 0; i < pieces; i++) if (!sent.write(piece(i))) await once(sent, "drain");
  sent.end();
  const [response] = await answered;
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
  return { status: response.statusCode ?? 0, text };
}

test("hundreds of megabytes go through a replica that does not work on them, and to a client that reads slowly", async () => {
  const passing = replicaNames.filter((name) => name !== set.writer());
  const [first, second] = passing as [ReplicaName, ReplicaName];
  const sha256 = createHash("sha256");
  for (let i = 0; i < megabytes; i++) sha256.update(piece(i));
  const digest = sha256.digest("hex");
  // What a process takes for its first large request, it keeps.
  expect((await send(first, "/v1/artifact-contents/local/large", 8)).status).toBe(200);

  const sending = await growth(async () => {
    const { status, text } = await send(first, `/v1/artifact-contents/local/large?sha256=${digest}`, megabytes);
    expect([status, text]).toEqual([200, expect.stringContaining(digest)]);
  });
  for (const name of replicaNames) expect(sending[name], name).toBeLessThan(mostMore);

  const version = { name: "pieces", type: "dataset", files: [{ path: "all", sha256: digest }] };
  const committed = await fetch(`${set.urlOf(first)}${where}`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify(version),
  });
  expect(committed.status).toBe(200);

  const reading = await growth(async () => {
    const path = `${where}/pieces/versions/latest/file?path=all`;
    const asked = http.get(`${set.urlOf(second)}${path}`, { headers: { authorization } });
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    const read = createHash("sha256");
    let bytes = 0;
    for await (const chunk of response) {
      // Until all that can wait on the way does.
      if (bytes === 0) await delay(2000);
      bytes += (chunk as Buffer).length;
      read.update(chunk as Buffer);
    }
    expect([bytes, read.digest("hex")]).toEqual([megabytes * megabyte, digest]);
  });
  for (const name of replicaNames) expect(reading[name], name).toBeLessThan(mostMore);
}, 120_000);
