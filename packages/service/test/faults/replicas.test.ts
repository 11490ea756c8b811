import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finished, heddle, ownerKey } from "./heddle-process.js";
import { batchOf } from "./batch-of.js";
import { idsIn } from "./ids-in.js";
import { ReplicaLoad } from "./replica-load.js";
import { controlPlanes, openReplicas, replicaNames } from "./replica-set.js";
import type { ReplicaName, ReplicaSet } from "./replica-set.js";
import { untilTaken } from "./until-taken.js";

// Clients use any of three services, of which one works on the traces.

const names = replicaNames;

describe.each(controlPlanes)(
  "replicas that share a control plane on %s",
  { timeout: 120_000 },
  (_, makeControlPlane) => {
    let set: ReplicaSet;
    beforeAll(async () => (set = await openReplicas(makeControlPlane)), 60_000);
    afterAll(async () => await set.remove());

    const urlOf = (name: ReplicaName) => set.urlOf(name);
    const writer = () => set.writer();

    test("what one acknowledges, every other one shows at once", async () => {
      expect(names).toContain(writer());
      for (let i = 0; i < 60; i++) {
        const [at, from] = [names[i % 3]!, names[(i + 1 + (i % 2)) % 3]!];
        const id = `read-your-write-${i}`;
        expect(await write(urlOf(at), "near", id)).toBe(200);
        expect(await read(urlOf(from), "near", id)).toBe(200);
        expect((await idsOf(urlOf(from), "near")).length).toBe(i + 1);
      }
    });

    test("each takes every request: files, compressed bodies, downloads in parts, GraphQL, health", async () => {
      const form = new FormData();
      form.set("project_id", "local/near");
      form.set("file", new Blob([new Uint8Array(300_000).fill(7)]), "sevens.bin");
      const created = await fetch(`${urlOf("b")}/file/create`, {
        method: "POST",
        headers: { authorization },
        body: form,
      });
      const { digest } = (await created.json()) as { digest: string };
      const content = await post(urlOf("c"), "/file/content", { project_id: "local/near", digest });
      expect(new Uint8Array(await content.arrayBuffer())).toEqual(new Uint8Array(300_000).fill(7));

      const body = gzipSync(JSON.stringify(batchOf("zipped", "zipped-1")));
      const zipped = { ...headers, "content-encoding": "gzip" };
      const sent = async () =>
        await fetch(`${urlOf("c")}/call/upsert_batch`, { method: "POST", headers: zipped, body });
      expect((await untilTaken(sent)).status).toBe(200);
      expect(await idsOf(urlOf("b"), "zipped")).toEqual(["zipped-1"]);

      const viewer = await untilTaken(
        async () => await post(urlOf("b"), "/graphql", { query: "{ viewer { username } }" }),
      );
      expect(viewer.status).toBe(200);
      for (const name of names) {
        expect((await untilTaken(async () => await fetch(`${urlOf(name)}/v1/health`))).status).toBe(200);
        const unknown = await fetch(`${urlOf(name)}/v1/models?project_id=local/near`);
        expect(unknown.status).toBe(401);
      }
    });

    test("an error is that of the replica that works: status, body, id of the request", async () => {
      const request = { ...headers, "x-request-id": "asked-at-b" };
      const response = await fetch(`${urlOf("b")}/calls/stream_query`, { method: "POST", headers: request, body: "{" });
      expect(response.status).toBe(400);
      expect(response.headers.get("x-request-id")).toBe("asked-at-b");
      expect(await response.text()).toContain("not JSON");
      const large = await fetch(`${urlOf("b")}/calls/stream_query`, {
        method: "POST",
        headers,
        body: JSON.stringify({ project_id: "local/near", query: "x".repeat(40_000_000) }),
      });
      expect(large.status).toBe(413);
    });

    test("the command lists all of them, and the one that works", async () => {
      const { code, out } = await finished(heddle(["members", "--json"], { HEDDLE_DATABASE_URL: set.databaseUrl }));
      expect(code).toBe(0);
      const lag = expect.any(Number) as number;
      const expected = names.map((name) => {
        const works = name === writer();
        const more = { lag_seconds: lag, shard_lag_seconds: works ? { main: lag } : {} };
        return expect.objectContaining({ address: urlOf(name), responds: true, works, ...more }) as unknown;
      });
      const listed = JSON.parse(out) as unknown[];
      expect(listed).toEqual(expect.arrayContaining(expected));
      expect(listed).toHaveLength(3);
    });

    test("a request that says it was forwarded, and was not, is refused by each", async () => {
      for (const name of names) {
        for (const forged of ["127.0.0.1 abc", "", "10.0.0.1"]) {
          const response = await fetch(`${urlOf(name)}/v1/models?project_id=local/near`, {
            headers: { authorization, "heddle-forwarded": forged },
          });
          expect(response.status).toBe(401);
        }
      }
    });

    test("a tail at one replica shows what is written at another", async () => {
      const ending = new AbortController();
      const tail = await fetch(`${urlOf("b")}/calls/tail`, {
        method: "POST",
        headers,
        body: JSON.stringify({ project_id: "local/tailed" }),
        signal: ending.signal,
      });
      expect(tail.status).toBe(200);
      let seen = "";
      const reading = (async () => {
        for await (const chunk of tail.body!.pipeThrough(new TextDecoderStream())) seen += chunk;
      })().catch(() => undefined);
      await write(urlOf("c"), "tailed", "tailed-1");
      await expect.poll(() => seen).toContain("tailed-1");
      ending.abort();
      await reading;
    });

    test("one that ends in order hands over: no write fails that is sent once more after a 503", async () => {
      const before = writer();
      const load = new ReplicaLoad(["ordered"], () => names.filter((name) => name !== before).map(urlOf));
      await delay(300);
      expect((await set.replicas[before].end("SIGTERM")).code).toBe(0);
      await expect.poll(() => load.acknowledgedNow()).toBeGreaterThan(20);
      await load.end();
      expect(load.failures).toEqual([]);
      const after = writer();
      expect(after).not.toBe(before);
      for (const name of names.filter((each) => each !== before)) {
        expect(await idsOf(urlOf(name), "ordered")).toEqual(expect.arrayContaining(load.acknowledged("ordered")));
      }
      await set.replicas[before].start();
      expect(await idsOf(urlOf(before), "ordered")).toEqual(expect.arrayContaining(load.acknowledged("ordered")));
    });

    test("one that is killed is replaced, and nothing that was acknowledged is lost or there twice", async () => {
      const before = writer();
      const load = new ReplicaLoad(["killed"], () => names.filter((name) => name !== before).map(urlOf));
      await delay(300);
      await set.replicas[before].end("SIGKILL");
      await expect.poll(() => load.acknowledgedNow(), { timeout: 30_000 }).toBeGreaterThan(20);
      await load.end();
      expect(load.failures).toEqual([]);
      for (const name of names.filter((each) => each !== before)) {
        const ids = await idsOf(urlOf(name), "killed");
        expect(ids).toEqual(expect.arrayContaining(load.acknowledged("killed")));
        expect(new Set(ids).size).toBe(ids.length);
      }
      await set.replicas[before].start();
      expect(writer()).not.toBe(before);
    });

    test("one that is stopped is replaced, and changes nothing when it goes on", async () => {
      const before = writer();
      const others = names.filter((name) => name !== before);
      process.kill(set.replicas[before].pid(), "SIGSTOP");
      const late = write(urlOf(before), "stopped", "sent-to-the-stopped").catch(() => 0);
      await expect.poll(() => write(urlOf(others[0]!), "stopped", "one"), { timeout: 40_000 }).toBe(200);
      const ended = set.replicas[before].ended();
      process.kill(set.replicas[before].pid(), "SIGCONT");
      expect(await late).not.toBe(200);
      expect((await ended).code).toBe(1);
      expect(set.replicas[before].log()).toContain("was taken over by");
      for (const name of others) expect(await idsOf(urlOf(name), "stopped")).toEqual(["one"]);
      await set.replicas[before].start();
      expect(await idsOf(urlOf(before), "stopped")).toEqual(["one"]);
    });
  },
);

const authorization = `Bearer ${ownerKey}`;
const headers = { authorization, "content-type": "application/json" };

async function post(url: string, path: string, body: unknown): Promise<Response> {
  return await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function write(url: string, project: string, id: string): Promise<number> {
  const response = await post(url, "/call/upsert_batch", batchOf(project, id));
  await response.text();
  return response.status;
}

async function read(url: string, project: string, id: string): Promise<number> {
  const response = await post(url, "/call/read", { project_id: `local/${project}`, id });
  const { call } = (await response.json()) as { call?: { id: string } };
  expect(call?.id).toBe(id);
  return response.status;
}

/** Ids of every call, in order. */
async function idsOf(url: string, project: string): Promise<string[]> {
  return await idsIn(await post(url, "/calls/stream_query", { project_id: `local/${project}` }));
}
