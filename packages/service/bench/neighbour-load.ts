import type { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { send } from "./load.js";
import type { ReadyRequest } from "./load.js";
import { completeRequests } from "./payloads.js";
import type { ServiceProcess } from "./service-process.js";

export const neighbourKinds = ["write", "list", "read", "completion", "evaluation"] as const;
type Kind = (typeof neighbourKinds)[number];

/** What a key of another entity did meanwhile: milliseconds of each request, and what failed. */
export interface NeighbourTimes {
  times: Record<Kind, number[]>;
  errors: string[];
}

export interface NeighbourLoad {
  projectId: string;
  writesPerSecond: number;
  /** The request of an evaluation of two rows. */
  evaluation: object;
}

const patienceMs = 60_000;

function asJson(path: string, body: unknown): ReadyRequest {
  const headers = { "content-type": "application/json" };
  return { path, headers, bytes: Buffer.from(JSON.stringify(body)) };
}

/**
 * Writes calls, lists the newest, counts them, completes five tokens, and evaluates two rows from the beginning to the
 * end, at the rates of an ordinary user, for so many seconds.
 */
export async function runNeighbour(
  neighbour: Pick<ServiceProcess, "url" | "key">,
  agent: Agent,
  { projectId, writesPerSecond, evaluation }: NeighbourLoad,
  seconds: number,
): Promise<NeighbourTimes> {
  const times: NeighbourTimes["times"] = { write: [], list: [], read: [], completion: [], evaluation: [] };
  const errors: string[] = [];
  const timed = async (kind: Kind, work: () => Promise<unknown>) => {
    const start = performance.now();
    try {
      await Promise.race([work(), tooLate()]);
    } catch (error) {
      errors.push(`${kind}: ${error instanceof Error ? error.message : String(error)}`);
    }
    times[kind].push(performance.now() - start);
  };
  const sent = (path: string, body: unknown) => async () => await send(neighbour, agent, asJson(path, body));
  const list = { project_id: projectId, limit: 20, sort_by: [{ field: "started_at", direction: "desc" }] };
  const messages = [{ role: "user", content: "Say the word loom." }];
  const completion = { model: "heddle/starter", messages, max_tokens: 5, ignore_eos: true };
  const pending: Promise<void>[] = [];
  const count = seconds * writesPerSecond;
  const began = performance.now();
  const evaluations = repeatUntil(began + seconds * 1000, () =>
    timed("evaluation", () => evaluate(neighbour, { project_id: projectId, ...evaluation })),
  );
  for (let index = 0; index < count; index++) {
    await delay(Math.max(0, began + (index * 1000) / writesPerSecond - performance.now()));
    const [write] = completeRequests(projectId, 1, 1);
    if (write !== undefined) pending.push(timed("write", async () => await send(neighbour, agent, write)));
    if (index % 10 === 0) pending.push(timed("list", sent("/calls/stream_query", list)));
    if (index % 25 === 0) pending.push(timed("read", sent("/calls/query_stats", { project_id: projectId })));
    if (index % 25 === 12) pending.push(timed("completion", sent("/v1/chat/completions", completion)));
  }
  await Promise.all([...pending, evaluations]);
  return { times, errors };
}

/** Rejects when nobody would wait any longer. */
async function tooLate(): Promise<never> {
  await delay(patienceMs, undefined, { ref: false });
  throw new Error(`not finished after ${patienceMs / 1000} s`);
}

async function repeatUntil(end: number, run: () => Promise<void>): Promise<void> {
  while (performance.now() < end) {
    await run();
    await delay(200);
  }
}

/** Resolves when the run has ended. */
async function evaluate({ url, key }: Pick<ServiceProcess, "url" | "key">, request: object): Promise<void> {
  const ask = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
    return JSON.parse(text) as { call_id?: string; status?: { code: string } };
  };
  const { call_id } = await ask("/evaluations/evaluate_model", request);
  const { project_id } = request as { project_id: string };
  for (;;) {
    const { status } = await ask("/evaluations/status", { project_id, call_id });
    if (status?.code === "complete") return;
    if (status?.code === "failed") throw new Error(JSON.stringify(status));
    await delay(20);
  }
}
