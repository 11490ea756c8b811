import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { choice, trajectory } from "../training/trajectories.js";
import { openHeddle, ownerKey } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { random } from "./random.js";

// One round in the suite; `pnpm faults` runs more.
const rounds = Math.min(Number(process.env["FAULT_ROUNDS"] ?? 1), 20);
const next = random(Number(process.env["FAULT_SEED"] ?? 4680));
const steps = 60;

let heddle: HeddleProcess;
beforeAll(async () => {
  heddle = await openHeddle({ jobLeaseMs: 1000 });
}, 60_000);
afterAll(async () => await heddle.remove());

interface JobEvent {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

test(
  "a training job goes on after kill -9: its steps are reported once, it ends once, and makes one checkpoint",
  async () => {
    const model = await ask<{ id: string }>("/v1/preview/models", {
      entity: "faults",
      project: "training",
      name: "agent",
      base_model: "random:tiny",
      return_existing: true,
    });
    for (let round = 1; round <= rounds; round++) {
      const { id } = await ask<{ id: string }>("/v1/preview/training-jobs", {
        model_id: model.id,
        trajectory_groups: [
          {
            trajectories: Array.from({ length: steps }, (_, n) => trajectory(n * n, choice("yes"))),
          },
        ],
        experimental_config: { packed_sequence_length: 1, learning_rate: 1e-6, advantage_balance: round / 1000 },
      });
      const { events } = await killAndFinish(id, next() * steps, next() * 50);
      expect(events.slice(1, -1).map(({ data }) => data["gradient_step"])).toEqual(
        Array.from({ length: steps }, (_, n) => n),
      );
      const { data: checkpoints } = await ask<{ data: { step: number; id: string; job_id: string | null }[] }>(
        `/v1/preview/models/${model.id}/checkpoints?limit=100`,
      );
      expect(checkpoints.map(({ step }) => step)).toEqual(Array.from({ length: round + 1 }, (_, step) => step));
      expect(checkpoints.at(-1)).toMatchObject({ job_id: id, id: events.at(-1)?.data["checkpoint_id"] });
      expect(await ask(`/v1/preview/training-jobs/${id}`)).toMatchObject({ status: "COMPLETED", step: round });
      const rollouts = await ask<{ data: { index: number; data: object }[] }>(
        `/v1/preview/training-jobs/${id}/rollouts?include=data&limit=100`,
      );
      const sent = Array.from({ length: steps }, (_, n) => JSON.stringify(trajectory(n * n, choice("yes"))));
      expect(rollouts.data.map(({ data }) => JSON.stringify(data))).toEqual(sent);
    }
  },
  60_000 + rounds * 60_000,
);

test("rollouts of a finished job are there byte for byte after a kill, and gone with their model", async () => {
  const model = await ask<{ id: string }>("/v1/preview/models", {
    entity: "faults",
    project: "rollouts",
    name: "agent",
    base_model: "random:tiny",
    return_existing: true,
  });
  const sent = [
    `{ "reward": 1.0, "messages_and_choices": [{"role":"user","content":"h\\u00e9 \u00e9 \u{1f9f5}"}, ${JSON.stringify(choice("yes"))}],
       "metadata": {"call_id": "one", "id": 107505301260286111, "id": "again"}, "logs": [], "extra": 1e2 }`,
    `{"messages_and_choices":[{"role":"user","content":"yes or no?"},${JSON.stringify(choice("no"))}],"reward":-0.0}`,
  ];
  const { id } = await ask<{ id: string }>(
    "/v1/preview/training-jobs",
    `{"model_id":"${model.id}","trajectory_groups":[{"trajectories":[${sent.join(" ,\n")}]}]}`,
  );
  while (!isTerminal((await eventsOf(id)).at(-1))) await delay(50);
  const path = `/v1/preview/training-jobs/${id}/rollouts`;
  const before = await textOf(`${path}?include=data`);
  for (const text of sent) expect(before).toContain(`"data":${text}`);
  await heddle.end("SIGKILL");
  await heddle.start();
  expect(await textOf(`${path}?include=data`)).toBe(before);

  expect((await send("DELETE", `/v1/preview/models/${model.id}`)).status).toBe(200);
  for (const gone of [path, `/v1/preview/training-jobs/${id}`]) expect((await send("GET", gone)).status).toBe(404);
}, 120_000);

test("a job that learns preferences goes on after kill -9, from the reference that it began with", async () => {
  const model = await ask<{ id: string }>("/v1/preview/models", {
    entity: "faults",
    project: "preferences",
    name: "agent",
    base_model: "random:tiny",
    return_existing: true,
  });
  const row = (question: number) => ({
    prompt: [{ role: "user", content: `${question}?` }],
    chosen: { role: "assistant", content: "yes" },
    rejected: { role: "assistant", content: "no" },
  });
  const rows = Array.from({ length: steps / 2 }, (_, n) => JSON.stringify(row(n))).join("\n");
  const stored = await fetch(`${heddle.url}/v1/artifact-contents/faults/preferences`, {
    method: "POST",
    headers: { authorization: `Bearer ${ownerKey}`, "content-type": "application/octet-stream" },
    body: rows,
  });
  const { sha256 } = (await stored.json()) as { sha256: string };
  await ask("/v1/artifacts/faults/preferences", {
    name: "pairs",
    type: "dataset",
    files: [{ path: "preferences.jsonl", sha256 }],
  });
  const { id } = await ask<{ id: string }>("/v1/preview/preference-training-jobs", {
    model_id: model.id,
    training_data_url: "heddle-artifact:///faults/preferences/pairs:v0",
    config: { batch_size: 1, num_epochs: 2, learning_rate: 1e-3 },
  });
  const { before, events } = await killAndFinish(id, next() * (steps - 1));
  // A reference of the interrupted job itself would put the margins back to 0.
  const margins = events.slice(1, -1).map(({ data }) => Number(data["reward_margin"]));
  expect(margins[0]).toBe(0);
  expect(margins.at(-1)).toBeGreaterThan(margins[Math.max(0, before.length - 2)] ?? Infinity);
  expect(await ask(`/v1/preview/training-jobs/${id}`)).toMatchObject({
    kind: "preference",
    status: "COMPLETED",
    step: 1,
  });
}, 120_000);

/** Kills the service after so many events of a job, and waits until the job has ended in the next one. */
async function killAndFinish(
  id: string,
  atEvent: number,
  thenMs = 0,
): Promise<{ before: JobEvent[]; events: JobEvent[] }> {
  while ((await eventsOf(id)).length <= Math.floor(atEvent)) await delay(5);
  await delay(thenMs);
  const before = await eventsOf(id);
  await heddle.end("SIGKILL");
  await heddle.start();
  while (!isTerminal((await eventsOf(id)).at(-1))) await delay(50);
  const events = await eventsOf(id);
  // What was readable before is readable afterwards, unchanged.
  expect(events.slice(0, before.length)).toEqual(before);
  expect(events.map(({ type }) => type)).toEqual([
    "training_started",
    ...Array.from({ length: steps }, () => "gradient_step"),
    "training_ended",
  ]);
  return { before, events };
}

const isTerminal = (event: JobEvent | undefined): boolean =>
  event?.type === "training_ended" || event?.type === "training_failed";

async function eventsOf(id: string): Promise<JobEvent[]> {
  const events: JobEvent[] = [];
  for (;;) {
    const after = events.length === 0 ? "" : `&after=${events.at(-1)?.id}`;
    const path = `/v1/preview/training-jobs/${id}/events?limit=100${after}`;
    const page = await ask<{ data: JobEvent[]; has_more: boolean }>(path);
    events.push(...page.data);
    if (!page.has_more) return events;
  }
}

/** `body` is JSON, or a text of it. */
async function ask<T>(path: string, body?: object | string): Promise<T> {
  return JSON.parse(await textOf(path, body)) as T;
}

async function textOf(path: string, body?: object | string): Promise<string> {
  const response = await send(body === undefined ? "GET" : "POST", path, body);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text;
}

async function send(method: string, path: string, body?: object | string): Promise<Response> {
  return await fetch(`${heddle.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}
