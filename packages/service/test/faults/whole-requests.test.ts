import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { openControlPlane } from "@heddle/control-plane";
import type { Running } from "../../src/boot/start.js";
import { batchOf } from "./batch-of.js";
import { ownerKey } from "./heddle-process.js";
import { idsIn } from "./ids-in.js";
import { openSharedStores } from "./shared-stores.js";
import type { SharedStores } from "./shared-stores.js";
import { untilTaken } from "./until-taken.js";

// Two replicas, each of which works on a tracing database, and a project in each.

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
const polling = { timeout: 60_000, interval: 200 };

const projects = ["one", "two"] as const;
let stores: SharedStores;
let replicas: Running[] = [];
beforeAll(async () => {
  stores = await openSharedStores(["east"]);
  replicas = [await stores.start("a"), await stores.start("b")];
  const control = await openControlPlane({ url: stores.databaseUrl });
  const owners = async () => {
    const leases = await control.leases.list("tracing database");
    return new Set(leases.map(({ address }) => address)).size;
  };
  await vi.waitFor(async () => expect(await owners()).toBe(2), polling);
  await control.close();
  // Each replica then remembers where each project is.
  for (const { url } of replicas)
    for (const project of projects) {
      expect((await post(url, "/call/upsert_batch", batchOf(project, "first"))).status).toBe(200);
    }
});
afterAll(async () => {
  for (const replica of replicas) await replica.close();
  await stores.remove();
});

const headers = { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" };
const send = async (
  url: string,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  more: Record<string, string> = {},
) => await fetch(url + path, { method: "POST", headers: { ...headers, ...more }, body });
const post = async (url: string, path: string, body: unknown, more: Record<string, string> = {}) =>
  await send(url, path, JSON.stringify(body), more);
const idsOf = async (url: string, project: string) =>
  await idsIn(await post(url, "/calls/stream_query", { project_id: `local/${project}` }));
const pathOf = (project: string) => `/v2/local/${project}/calls/complete`;

const callOf = (project: string, id: string, text = "") => ({
  project_id: `local/${project}`,
  id,
  trace_id: id,
  op_name: "work",
  started_at: "2026-04-10T09:00:00Z",
  ended_at: "2026-04-10T09:00:01Z",
  attributes: {},
  inputs: { text },
  output: null,
  summary: {},
});

function exportOf(spanId: string, resource: Record<string, string> = {}) {
  const attributes = Object.entries(resource).map(([key, stringValue]) => ({ key, value: { stringValue } }));
  const at = `${Date.parse("2026-04-10T09:00:00Z")}000000`;
  const span = { traceId: "1".repeat(32), spanId, name: "work", kind: 1, startTimeUnixNano: at, endTimeUnixNano: at };
  return { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope: {}, spans: [span] }] }] };
}

test("calls and spans are stored whichever replica gets them, short, long and compressed, and are there at both", async () => {
  const expected = new Map(projects.map((project) => [project, ["first"]]));
  for (const [i, { url }] of replicas.entries()) {
    for (const project of projects) {
      const ids = ["short", "long", "zipped"].map((kind) => `${kind}-${i}`);
      const [short, long, zipped] = [ids[0]!, ids[1]!, ids[2]!];
      const [large, span] = ["x".repeat(3_000_000), `${i + 1}`.repeat(16)];
      const path = pathOf(project);
      const body = gzipSync(JSON.stringify({ batch: [callOf(project, zipped)] }));
      const ofProject = { project_id: `local/${project}` };
      const responses = [
        await untilTaken(async () => await post(url, path, { batch: [callOf(project, short)] })),
        await untilTaken(async () => await post(url, path, { batch: [callOf(project, long, large)] })),
        await untilTaken(async () => await send(url, path, body, { "content-encoding": "gzip" })),
        await untilTaken(async () => await post(url, "/otel/v1/traces", exportOf(span), ofProject)),
      ];
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expected.get(project)?.push(...ids, span);
    }
  }
  for (const { url } of replicas) {
    for (const project of projects) expect(await idsOf(url, project)).toEqual(expected.get(project)?.toSorted());
  }
});

test("spans whose resource names another project than the header are stored in that one", async () => {
  const other = { "wandb.entity": "local", "wandb.project": "one" };
  for (const [i, { url }] of replicas.entries()) {
    const spanId = `abc${i}`.padEnd(16, "0");
    const response = await post(url, "/otel/v1/traces", exportOf(spanId, other), { project_id: "local/two" });
    expect(response.status).toBe(200);
    for (const each of replicas) {
      expect(await idsOf(each.url, "one")).toContain(spanId);
      expect(await idsOf(each.url, "two")).not.toContain(spanId);
    }
  }
});

test("what is wrong with a request is told as by the other replica, with its id", async () => {
  for (const { url } of replicas) {
    for (const project of projects) {
      const ask = async (body: string, more: Record<string, string> = {}) => {
        const response = await send(url, pathOf(project), body, { "x-request-id": "asked", ...more });
        await response.text();
        return [response.status, response.headers.get("x-request-id")];
      };
      expect(await ask("{")).toEqual([400, "asked"]);
      expect(await ask(JSON.stringify({ batch: [callOf("other", "x")] }))).toEqual([422, "asked"]);
      expect(await ask(JSON.stringify({ batch: [] }), { authorization: `Bearer ${"0".repeat(40)}` })).toEqual([
        401,
        "asked",
      ]);
      const forged = { "heddle-sent-whole": "127.0.0.1 abc" };
      expect(await ask(JSON.stringify({ batch: [callOf(project, "forged")] }), forged)).toEqual([401, "asked"]);
      expect(await idsOf(url, project)).not.toContain("forged");
    }
  }
});

test("nothing is lost when the replica that works on a project ends, and its clients send again what got a 503", async () => {
  const [a, b] = replicas;
  const acknowledged: string[] = [];
  const state = { isEnding: false };
  const client = async (name: string) => {
    for (let i = 0; !state.isEnding || i < 20; i++) {
      const id = `${name}-${i}`;
      for (;;) {
        const response = await post(a!.url, pathOf("two"), { batch: [callOf("two", id)] });
        await response.text();
        if (response.status === 200) break;
        expect(response.status).toBe(503);
        await delay(100);
      }
      acknowledged.push(id);
    }
  };
  const clients = Promise.all(["c", "d", "e"].map(client));
  await expect.poll(() => acknowledged.length, polling).toBeGreaterThan(10);
  await b!.close();
  replicas = [a!];
  const before = acknowledged.length;
  await expect.poll(() => acknowledged.length, polling).toBeGreaterThan(before + 10);
  state.isEnding = true;
  await clients;
  const ids = await idsOf(a!.url, "two");
  expect(ids).toEqual(expect.arrayContaining(acknowledged));
  expect(new Set(ids).size).toBe(ids.length);
});
