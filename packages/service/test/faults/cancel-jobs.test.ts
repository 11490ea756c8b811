import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { openControlPlane } from "@heddle/control-plane";
import type { ControlPlane } from "@heddle/control-plane";
import { openDatabase } from "@heddle/control-plane/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startChatServer } from "../chat-server.js";
import { startUpstream } from "../upstream.js";
import { choice, trajectory } from "../training/trajectories.js";
import { openHeddle, ownerKey } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { publishEvaluation } from "./publish-evaluation.js";
import { heldByRequests, leaveRequest, longRequests } from "./left-requests.js";
import { random } from "./random.js";
import { wire } from "./wire.js";
import type { Wire } from "./wire.js";

// Some seconds in the suite; `pnpm faults` takes ten minutes.
const seconds = process.env["FAULT_ROUNDS"] === undefined ? 8 : 30 * Number(process.env["FAULT_ROUNDS"]);
const seed = Number(process.env["FAULT_SEED"] ?? 4680);
const entities = ["chaos", "rival"];
/** Statuses of requests whose key, model or run is gone, or that come while the service restarts. */
const expected = new Set([0, 200, 401, 403, 404, 409, 429, 503]);

let chat: Awaited<ReturnType<typeof startChatServer>>;
let receiver: Awaited<ReturnType<typeof startUpstream>>;
let heddle: HeddleProcess;
let control: ControlPlane;
let client: Wire;
beforeAll(async () => {
  chat = await startChatServer();
  receiver = await startUpstream({ "POST /hook": (response) => response.writeHead(204).end() });
  const acme = { baseUrl: `${chat.url}/v1`, allowPrivate: true, kinds: ["chat-completions"], models: ["loom-*"] };
  const env = {
    HEDDLE_PROVIDERS: JSON.stringify({ acme }),
    HEDDLE_JOB_SLICE: "1",
    HEDDLE_METRICS: "on",
    HEDDLE_WEBHOOKS_PRIVATE: "on",
  };
  heddle = await openHeddle({ env, jobLeaseMs: 3000 });
  client = wire(heddle.url);
  control = await openControlPlane({ url: pathToFileURL(join(heddle.data, "control.db")).href });
}, 60_000);
afterAll(async () => {
  await control.close();
  await heddle.remove();
  await chat.close();
  await receiver.close();
});

interface Key {
  id: string;
  secret: string;
  entity: string;
}

interface Asked {
  kind: "run" | "training";
  id: string;
  project: string;
}

test(
  "jobs that are cancelled, deleted, revoked and killed at random, and requests that are left, each end once, and leave no slot, claim, thread or file",
  async () => {
    const next = random(seed);
    const pick = <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)] as T;
    const projects = entities.flatMap((entity) => ["a", "b", "c"].map((name) => `${entity}/${name}`));
    const published = new Map<string, Awaited<ReturnType<typeof publish>>>();
    for (const project of projects) published.set(project, await publish(project, 2 + Math.floor(next() * 60)));
    const keys: Key[] = [];
    for (const entity of [...entities, ...entities]) keys.push(await newKey(entity));
    const asked: Asked[] = [];
    const counts: Record<string, number> = {};
    const count = (name: string) => void (counts[name] = (counts[name] ?? 0) + 1);
    const left = new Set<Promise<void>>();
    for (const project of projects) {
      const events = ["evaluation_run.finished", "training_job.ended"];
      await client.ask("/webhooks", { project_id: project, url: `${receiver.url}/hook`, events });
    }

    // What a service that has worked needs.
    await client.ask("/evaluations/evaluate_model", { project_id: "chaos/a", ...published.get("chaos/a")?.run });
    await train(ownerHeaders, "chaos/a", "warm", 3);
    await idle();
    const threads = threadsOf(heddle.pid());

    const send = async (path: string, body: object, headers: Record<string, string>) => {
      const reply = await client.post(path, body, headers);
      expect(expected, `${path}: ${reply.status} ${reply.text}`).toContain(reply.status);
      return reply.status === 200
        ? (JSON.parse(reply.text) as { id?: string; call_id?: string; url?: string })
        : undefined;
    };
    const headersOf = ({ secret }: Key) => ({ authorization: `Bearer ${secret}` });
    const projectOf = ({ entity }: Key) => pick(projects.filter((project) => project.startsWith(`${entity}/`)));
    const recent = (kind: Asked["kind"]) => pick(asked.filter((job) => job.kind === kind).slice(-12));
    const actions: Record<string, [weight: number, act: () => Promise<void>]> = {
      evaluate: [
        10,
        async () => {
          const key = pick(keys);
          const project = projectOf(key);
          const body = { project_id: project, ...published.get(project)?.run };
          const created = await send("/evaluations/evaluate_model", body, headersOf(key));
          if (created?.call_id !== undefined) asked.push({ kind: "run", id: created.call_id, project });
        },
      ],
      train: [
        5,
        async () => {
          const key = pick(keys);
          const project = projectOf(key);
          const id = await train(headersOf(key), project, pick(["m", "n"]), 2 + Math.floor(next() * 80));
          if (id !== undefined) asked.push({ kind: "training", id, project });
        },
      ],
      score: [
        3,
        async () => {
          const key = pick(keys);
          const run = pick(asked.filter(({ kind, project }) => kind === "run" && project.startsWith(`${key.entity}/`)));
          if (run === undefined) return;
          const scorers = [published.get(run.project)?.scorer ?? ""];
          const body = { project_id: run.project, call_ids: [run.id], scorer_refs: scorers };
          await send("/calls/score", body, headersOf(key));
        },
      ],
      "leave a request": [
        12,
        async () => {
          if (left.size >= 20) return;
          const key = pick(keys);
          const project = projectOf(key);
          const [name, [path, body]] = pick(Object.entries(longRequests(project, modelIds.get(project))));
          const headers = { ...headersOf(key), "content-type": "application/json" };
          const init = { method: "POST", headers, body: JSON.stringify(body) };
          const leave = async () => {
            const status = await leaveRequest(heddle.url + path, init, next() * 2000);
            if (status === 200) count(name);
            // Of templates, constraints and queries that are refused.
            expect([...expected, 400, 413], `${name}: ${status}`).toContain(status);
          };
          const sent = leave();
          left.add(sent);
          void sent.finally(() => left.delete(sent)).catch(() => undefined);
        },
      ],
      "leave an export": [
        3,
        async () => {
          const key = pick(keys);
          const body = { project_id: projectOf(key), format: pick(["jsonl", "csv"]) };
          const created = await send("/exports", body, headersOf(key));
          if (created?.url !== undefined) await leaveRequest(created.url, {}, next() * 100);
        },
      ],
      "delete a run": [
        4,
        async () => {
          const run = recent("run");
          if (run !== undefined) await send("/calls/delete", { project_id: run.project, call_ids: [run.id] }, {});
        },
      ],
      "cancel a training job": [
        3,
        async () => {
          const job = recent("training");
          if (job !== undefined) await send(`/v1/preview/training-jobs/${job.id}/cancel`, {}, {});
        },
      ],
      "delete a model": [
        0.5,
        async () => {
          const job = recent("training");
          const known = job && (await client.get(`/v1/preview/training-jobs/${job.id}`));
          if (known?.status !== 200) return;
          const { model_id: id } = JSON.parse(known.text) as { model_id: string };
          const { status } = await fetch(`${heddle.url}/v1/preview/models/${id}`, {
            method: "DELETE",
            headers: ownerHeaders,
          });
          expect(expected).toContain(status);
        },
      ],
      "revoke a key": [
        0.7,
        async () => {
          const key = pick(keys);
          await control.keys.revoke(key.id);
          keys.splice(keys.indexOf(key), 1, await newKey(key.entity));
        },
      ],
      "kill the service": [
        0.4,
        async () => {
          await heddle.end("SIGKILL");
          await heddle.start();
        },
      ],
    };
    const total = Object.values(actions).reduce((sum, [weight]) => sum + weight, 0);
    const deadline = performance.now() + seconds * 1000;
    while (performance.now() < deadline) {
      let at = next() * total;
      const [name, [, act]] =
        Object.entries(actions).find(([, [weight]]) => (at -= weight) < 0) ?? pick(Object.entries(actions));
      const isNew = name === "evaluate" || name === "train" || name === "score";
      const active = (await control.jobs.active()).reduce((sum, job) => sum + job.count, 0);
      if (!isNew || active < 25) {
        await act();
        count(name);
      }
      await delay(next() * 150);
    }
    await Promise.all(left);
    for (const name of ["revoke a key", "kill the service", "delete a run", "cancel a training job"]) {
      if (counts[name] === undefined) await actions[name]?.[1]();
    }
    await idle();

    for (const { kind, id, project } of asked) {
      const job = await control.jobs.get(project, id);
      expect(["succeeded", "failed", "cancelled"], `${kind} ${id}`).toContain(job?.state);
      if (kind === "run") {
        const { status } = await client.ask<{ status: { code: string; error?: string } }>("/evaluations/status", {
          project_id: project,
          call_id: id,
        });
        expect(["complete", "failed", "not_found"]).toContain(status.code);
        if (status.code === "failed") expect(status.error).toBe("the API key that asked for it was revoked");
      } else await checkEvents(id);
    }
    expect(await claims()).toEqual([]);
    await expect.poll(async () => await heldByRequests(heddle.url, ownerKey), { timeout: 30_000 }).toEqual({});
    await checkTold(asked);
    expect(readdirSync(join(heddle.data, "training", "jobs"))).toEqual([]);
    // Each slot can be used again, by somebody else.
    const late = await newKey("late");
    const { run } = await publish("late/a", 2);
    await send("/evaluations/evaluate_model", { project_id: "late/a", ...run }, headersOf(late));
    await train(headersOf(late), "late/a", "m", 3);
    await idle();
    expect(threadsOf(heddle.pid())).toBeLessThanOrEqual(threads + 8);
    console.log(`${seconds} s, seed ${seed}, ${asked.length} jobs: ${JSON.stringify(counts)}`);
  },
  600_000 + seconds * 1000,
);

const publish = async (projectId: string, rows: number) =>
  await publishEvaluation(client, { projectId, rows, trials: 8 });

/** By project, of one model that was made there. */
const modelIds = new Map<string, string>();

const ownerHeaders = { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" };

async function newKey(entity: string): Promise<Key> {
  const { key, secret } = await control.keys.create({ user_name: "ann", entity, role: "write" });
  return { id: key.id, secret, entity };
}

/** Jobs that somebody has, or that wait for somebody. */
async function claims(): Promise<object[]> {
  const database = openDatabase(pathToFileURL(join(heddle.data, "control.db")).href);
  try {
    return await database.rows(
      `SELECT id, state FROM jobs WHERE lease_token IS NOT NULL OR ended_at IS NULL
          OR state NOT IN ('succeeded', 'failed', 'cancelled')`,
    );
  } finally {
    await database.close();
  }
}

/** Resolves when no job waits or runs. Throws when nothing has become of those that do for two minutes. */
async function idle(): Promise<void> {
  for (let before = "", same = 0; same < 1200; await delay(100)) {
    const left = JSON.stringify(await unended("state, attempts, progress_completed"));
    if (left === "[]") return;
    same = left === before ? same + 1 : 0;
    before = left;
  }
  throw new Error(`jobs do not go on: ${JSON.stringify(await unended("*"))}`);
}

async function unended(columns: string): Promise<unknown[]> {
  const database = openDatabase(pathToFileURL(join(heddle.data, "control.db")).href);
  try {
    const rows = await database.rows(`SELECT ${columns} FROM jobs WHERE ended_at IS NULL ORDER BY sequence`);
    return rows.map((row) => Object.values(row).map(String));
  } finally {
    await database.close();
  }
}

/** Returns the id of a new training job; undefined if the request was refused. */
async function train(headers: Record<string, string>, projectId: string, name: string, steps: number) {
  const [entity, project] = projectId.split("/");
  const model = { entity, project, name, base_model: "random:tiny", return_existing: true };
  const found = await client.post("/v1/preview/models", model, headers);
  expect(expected, found.text).toContain(found.status);
  if (found.status !== 200) return undefined;
  const { id } = JSON.parse(found.text) as { id: string };
  modelIds.set(projectId, id);
  const trajectories = Array.from({ length: steps }, (_, n) => trajectory(n * n + Math.random(), choice("yes")));
  const body = {
    model_id: id,
    trajectory_groups: [{ trajectories }],
    experimental_config: { packed_sequence_length: 1, learning_rate: 1e-6 },
  };
  const created = await client.post("/v1/preview/training-jobs", body, headers);
  expect(expected, created.text).toContain(created.status);
  return created.status === 200 ? (JSON.parse(created.text) as { id: string }).id : undefined;
}

/** A training job has its steps in order, and one end after them. */
async function checkEvents(id: string): Promise<void> {
  const events: { id: string; type: string; data: { gradient_step?: number } }[] = [];
  for (let more = true; more;) {
    const after = events.length === 0 ? "" : `&after=${events.at(-1)?.id}`;
    const { status, text } = await client.get(`/v1/preview/training-jobs/${id}/events?limit=100${after}`);
    // Its model was deleted.
    if (status === 404) return;
    const page = JSON.parse(text) as { data: typeof events; has_more: boolean };
    events.push(...page.data);
    more = page.has_more;
  }
  const types = events.map(({ type }) => type);
  expect(types.filter((type) => type === "training_ended" || type === "training_failed")).toEqual([types.at(-1)]);
  expect(types.filter((type) => type === "training_started").length).toBeLessThanOrEqual(1);
  const steps = events.flatMap(({ type, data }) => (type === "gradient_step" ? [data.gradient_step] : []));
  expect(steps).toEqual(steps.map((_, n) => n));
}

/** Each end is told to the webhook of its project, under one id however often it is sent. */
async function checkTold(asked: readonly Asked[]): Promise<void> {
  const ids = (id: string) => {
    const about = receiver.received.filter(({ body }) => body.includes(`"${id}"`));
    return new Set(about.map(({ headers }) => headers["webhook-id"])).size;
  };
  for (const { kind, id } of asked) {
    // What is deleted need not be told.
    const isKept = kind === "training" && (await client.get(`/v1/preview/training-jobs/${id}`)).status === 200;
    if (isKept) await expect.poll(() => ids(id), { timeout: 30_000, message: `training ${id}` }).toBe(1);
    else expect(ids(id), `${kind} ${id}`).toBeLessThanOrEqual(1);
  }
}

function threadsOf(pid: number): number {
  return Number(/^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}
