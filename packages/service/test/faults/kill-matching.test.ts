import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openHeddle } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { killTargets } from "./kill-targets.js";
import { random } from "./random.js";
import { wire } from "./wire.js";
import type { Wire } from "./wire.js";

// One round in the suite, with another kill for every second action; `pnpm faults` runs twenty.
const rounds = Number(process.env["FAULT_ROUNDS"] ?? 1);
const seed = Number(process.env["FAULT_SEED"] ?? 4680);
const targets = ["the service", "service and engine host"];
const count = 1500;

let heddle: HeddleProcess;
let client: Wire;
beforeAll(async () => {
  heddle = await openHeddle();
  client = wire(heddle.url);
}, 60_000);
afterAll(() => heddle.remove());

interface Action {
  /** What has to be there first; the path and the body of the request. */
  prepare: (projectId: string) => Promise<{ path: string; body: object }>;
  /** That it was done to every call once. */
  check: (projectId: string) => Promise<void>;
}

const matching = { filter: { op_names: ["many"] }, expected_count: count };
let queueId = "";

const actions: Record<string, Action> = {
  feedback: {
    prepare: async (projectId) => ({
      path: "/feedback/create_matching",
      body: { project_id: projectId, ...matching, feedback_type: "wandb.note.1", payload: { note: "seen" } },
    }),
    async check(projectId) {
      const { result } = await client.ask<{ result: { weave_ref: string }[] }>("/feedback/query", {
        project_id: projectId,
        fields: ["weave_ref"],
      });
      expect([result.length, new Set(result.map(({ weave_ref: ref }) => ref)).size]).toEqual([count, count]);
    },
  },
  queue: {
    async prepare(projectId) {
      ({ id: queueId } = await client.ask<{ id: string }>("/annotation_queues", {
        project_id: projectId,
        name: "q",
        scorer_refs: [],
      }));
      return {
        path: `/annotation_queues/${queueId}/items/add_matching`,
        body: { project_id: projectId, ...matching, display_fields: ["inputs.n"] },
      };
    },
    async check(projectId) {
      const path = `/annotation_queues/${queueId}/items/query`;
      const { items } = await client.ask<{ items: { call_id: string }[] }>(path, {
        project_id: projectId,
        limit: 10_000,
      });
      expect([items.length, new Set(items.map(({ call_id: id }) => id)).size]).toEqual([count, count]);
    },
  },
  dataset: {
    async prepare(projectId) {
      await client.ask(`/v2/${projectId}/datasets`, { name: "golden", rows: [{ n: "base" }] });
      return {
        path: `/v2/${projectId}/datasets/golden/add_matching`,
        body: { ...matching, columns: { n: "inputs.n" } },
      };
    },
    async check(projectId) {
      const read = await client.get(`/v2/${projectId}/datasets/golden/versions/latest`);
      const { rows: ref, version_index: version } = JSON.parse(read.text) as { rows: string; version_index: number };
      const digest = ref.split("/").at(-1) ?? "";
      const { rows } = await client.ask<{ rows: { val: { n: unknown } }[] }>("/table/query", {
        project_id: projectId,
        digest,
      });
      expect([version, rows[0]?.val.n, rows.length, new Set(rows.map(({ val }) => val.n)).size]).toEqual([
        1,
        "base",
        count + 1,
        count + 1,
      ]);
    },
  },
  deletion: {
    prepare: async (projectId) => ({ path: "/calls/delete_matching", body: { project_id: projectId, ...matching } }),
    async check(projectId) {
      const left = await client.rows<{ id: string }>("/calls/stream_query", { project_id: projectId });
      expect(left.map(({ id }) => id)).toEqual(["kept"]);
    },
  },
};

test.each(Object.keys(actions).map((name, place) => ({ name, place })))(
  "$name of all that matches is done once to each call after kill -9, when the request is sent again",
  async ({ name, place }) => {
    const { prepare, check } = actions[name]!;
    const next = random(seed);
    let interrupted = 0;
    for (let round = 0; round < rounds; round++) {
      const projectId = `faults/${name}-${round}`;
      await fill(projectId);
      const { path, body } = await prepare(projectId);
      const headers = { "x-weave-retry-id": randomUUID() };
      const first = client.post(path, body, headers);
      await delay(next() * 250);
      await killTargets[targets[(place + round) % targets.length]!]?.(heddle);
      if ((await first).status !== 200) interrupted += 1;
      await expect
        .poll(async () => (await client.post(path, body, headers)).status, { timeout: 60_000, interval: 200 })
        .toBe(200);
      await check(projectId);
    }
    console.log(`${name}: ${rounds} rounds, seed ${seed}, ${interrupted} were interrupted`);
  },
  60_000 + rounds * 60_000,
);

/** The calls that match, and one that does not. */
async function fill(projectId: string): Promise<void> {
  const time = "2026-04-10T09:00:00Z";
  const call = (id: string, opName: string, n: number) => ({
    project_id: projectId,
    id,
    trace_id: id,
    op_name: opName,
    started_at: time,
    ended_at: time,
    attributes: {},
    inputs: { n },
    output: null,
    summary: {},
  });
  const batch = [call("kept", "one", -1), ...Array.from({ length: count }, (_, n) => call(`c${n}`, "many", n))];
  await client.ask(`/v2/${projectId}/calls/complete`, { batch });
}
