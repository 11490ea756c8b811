import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startChatServer } from "../chat-server.js";
import { openHeddle } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { publishEvaluation } from "./publish-evaluation.js";
import { random } from "./random.js";
import { wire } from "./wire.js";
import type { Wire } from "./wire.js";
import { killTargets } from "./kill-targets.js";

// One round in the suite; `pnpm faults` runs ten.
const rounds = Math.min(Number(process.env["FAULT_ROUNDS"] ?? 1), 10);
const seed = Number(process.env["FAULT_SEED"] ?? 4680);
const rowCount = 16;
const trials = 2;
const secret = "sk-very-secret-key";

let chat: Awaited<ReturnType<typeof startChatServer>>;
let heddle: HeddleProcess;
beforeAll(async () => {
  chat = await startChatServer();
  const acme = {
    baseUrl: `${chat.url}/v1`,
    apiKey: secret,
    allowPrivate: true,
    kinds: ["chat-completions"],
    models: ["loom-*"],
  };
  const env = { HEDDLE_PROVIDERS: JSON.stringify({ acme }), HEDDLE_EVALUATION_CONCURRENCY: "6" };
  heddle = await openHeddle({ env, jobLeaseMs: 1000 });
}, 60_000);
afterAll(async () => {
  await heddle.remove();
  await chat.close();
});

test.each(Object.keys(killTargets))(
  "an evaluation run is finished after kill -9 of %s, with each row once",
  async (target) => {
    const next = random(seed);
    const client = wire(heddle.url);
    const projectId = `faults/evaluation-${Object.keys(killTargets).indexOf(target)}`;
    const { run } = await publishEvaluation(client, { projectId, rows: rowCount, trials });
    let repeated = 0;
    for (let round = 1; round <= rounds; round++) {
      chat.asked.clear();
      const { call_id: id } = await client.ask<{ call_id: string }>("/evaluations/evaluate_model", {
        project_id: projectId,
        ...run,
      });
      await until(async () => ((await statusOf(client, projectId, id)).completed_rows ?? 0) > next() * 16);
      await delay(next() * 100);
      const done = await finishedPrompts(client, projectId, id);
      const before = new Map(chat.asked);
      await killTargets[target]?.(heddle);
      await until(async () => (await statusOf(client, projectId, id)).code !== "running");
      expect(await statusOf(client, projectId, id)).toMatchObject({
        code: "complete",
        output: { exact: { passed: { true_count: rowCount * trials, true_fraction: 1 } } },
      });
      expect(await faultsOf(client, projectId, id)).toEqual([]);
      // A row of which all trials were readable is never predicted again.
      for (const prompt of done) expect(chat.asked.get(prompt)).toBe(before.get(prompt));
      repeated += [...chat.asked.values()].reduce((sum, times) => sum + times, 0) - rowCount * trials;
    }
    expect(heddle.log()).not.toContain(secret);
    console.log(`${target}: ${rounds} rounds, seed ${seed}, ${repeated} predictions in flight were repeated`);
  },
  60_000 + rounds * 60_000,
);

interface Call {
  id: string;
  op_name: string;
  parent_id: string | null;
  ended_at: string | null;
  exception: string | null;
  inputs: { inputs?: { prompt: string }; example?: string };
}

async function statusOf(client: Wire, projectId: string, id: string) {
  type Status = { code: string; completed_rows?: number; total_rows?: number };
  const { status, text } = await client.post("/evaluations/status", { project_id: projectId, call_id: id });
  // The service restarts.
  if (status === 0 || status === 503) return { code: "running" } as Status;
  expect(status, text).toBe(200);
  return (JSON.parse(text) as { status: Status }).status;
}

const callsOf = async (client: Wire, projectId: string, id: string) =>
  await client.rows<Call>("/calls/stream_query", { project_id: projectId, filter: { trace_ids: [id] } });

const isItem = ({ op_name: op }: Call) => op.includes("Evaluation.predict_and_score");

/** Prompts of which every trial is finished. */
async function finishedPrompts(client: Wire, projectId: string, id: string): Promise<string[]> {
  const calls = await callsOf(client, projectId, id);
  const items = new Set(calls.filter(isItem).map((call) => call.id));
  const counts = new Map<string, number>();
  for (const { parent_id, op_name, inputs } of calls) {
    if (!op_name.includes("model.predict") || !items.has(parent_id ?? "")) continue;
    const prompt = inputs.inputs?.prompt ?? "";
    counts.set(prompt, (counts.get(prompt) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count === trials).map(([prompt]) => prompt);
}

/** What is missing from a finished run, or in it twice. */
async function faultsOf(client: Wire, projectId: string, id: string): Promise<string[]> {
  const calls = await callsOf(client, projectId, id);
  const faults: string[] = [];
  if (new Set(calls.map((call) => call.id)).size !== calls.length) faults.push("a call is there twice");
  const items = calls.filter(isItem);
  const rows = new Map<string, number>();
  for (const { inputs } of items) rows.set(inputs.example ?? "", (rows.get(inputs.example ?? "") ?? 0) + 1);
  if (rows.size !== rowCount) faults.push(`${rows.size} rows`);
  for (const [row, count] of rows) if (count !== trials) faults.push(`${row} has ${count} predictions`);
  for (const item of items) {
    const children = calls
      .filter(({ parent_id }) => parent_id === item.id)
      .map(({ op_name: op }) => /op\/([^:]+)/.exec(op)?.[1] ?? op)
      .toSorted((a, b) => (a < b ? -1 : 1));
    if (children.join() !== "digits.score,exact.score,model.predict") faults.push(`${item.id}: ${children.join()}`);
  }
  for (const { id: callId, ended_at, exception } of calls) {
    if (ended_at === null || exception !== null) faults.push(`${callId}: ${exception ?? "not ended"}`);
  }
  if (calls.length !== 2 + items.length * 4) faults.push(`${calls.length} calls`);
  return faults;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(20);
}
