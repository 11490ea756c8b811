import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { computingLoad, endComputing } from "../../src/computing/computing.js";
import { startChatServer } from "../chat-server.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { writeProviders } from "../upstream.js";
import { weaveObject } from "../weave-object.js";

let directory: string;
let chat: Awaited<ReturnType<typeof startChatServer>>;
let service: TestService;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "heddle-computing-"));
  chat = await startChatServer();
  const provider = { baseUrl: `${chat.url}/v1`, allowPrivate: true, kinds: ["chat-completions"], models: ["loom-*"] };
  const file = writeProviders(directory, { acme: { ...provider, apiKey: "sk-secret", timeoutSeconds: 60 } });
  service = await openTestService({ HEDDLE_PROVIDERS: file, HEDDLE_EVALUATION_COMPUTING: "5" });
});
afterAll(async () => {
  await service.close();
  await chat.close();
  rmSync(directory, { recursive: true, force: true });
});

/** A key of an entity of its own, with what it does in a project of its own. */
async function tenant(entity: string) {
  const tracing = service.tracing(await service.key({ entity }));
  const project = newProject(entity);
  const stored = async (val: object, builtin?: string): Promise<string> => {
    const name = `object-${randomUUID().slice(0, 8)}`;
    const obj = { project_id: project, object_id: name, val, builtin_object_class: builtin };
    const { digest } = await tracing.objCreate({ obj });
    return `weave:///${project}/object/${name}:${digest}`;
  };
  return {
    stored,
    async call(output: unknown, expected: unknown): Promise<string> {
      const id = randomUUID();
      const at = new Date().toISOString();
      const inputs = { expected };
      const start = {
        project_id: project,
        id,
        trace_id: id,
        op_name: "answer",
        started_at: at,
        attributes: {},
        inputs,
      };
      await tracing.callStart({ start });
      await tracing.callEnd({ end: { project_id: project, id, ended_at: at, output, summary: {} } });
      return id;
    },
    score: async (calls: string[], scorers: string[]) =>
      tracing.callsScore({ project_id: project, call_ids: calls, scorer_refs: scorers }),
    async feedback() {
      const { result } = await tracing.feedbackQuery({ project_id: project });
      return result as unknown as { runnable_ref: string; payload: { output: object | null; error?: string } }[];
    },
    read: async () => tracing.callsQueryStats({ project_id: project }),
    async evaluate(
      template: string,
      rows: object[],
      { scorers = [], trials = 1 }: { scorers?: string[]; trials?: number },
    ) {
      const { digest } = await tracing.tableCreate({ table: { project_id: project, rows: rows as never } });
      const dataset = await stored(weaveObject("Dataset", { rows: `weave:///${project}/table/${digest}` }));
      const evaluationRef = await stored(weaveObject("Evaluation", { dataset, scorers, trials }));
      const parameters = { messages_template: [{ role: "user", content: template }] };
      const modelRef = await stored(
        { llm_model_id: "acme/loom-8b", default_params: parameters },
        "LLMStructuredCompletionModel",
      );
      const { call_id } = await tracing.evaluateModel({
        project_id: project,
        evaluation_ref: evaluationRef,
        model_ref: modelRef,
      });
      return call_id;
    },
    status: async (id: string) => (await tracing.evaluationStatus({ project_id: project, call_id: id })).status,
    remove: async (id: string) => tracing.callsDelete({ project_id: project, call_ids: [id] }),
  };
}

const words = (length: number) => Array.from({ length }, (_, index) => "abcdefgh"[index % 7]).join(" ");
const bomb = { schema: { pattern: "^(a+)+$" } };
const bombed = `"${"a".repeat(50)}b"`;

/** Reads with another key until the work is done; returns how long the longest read and the longest turn took. */
async function whileReading(
  isDone: () => Promise<boolean>,
): Promise<{ readMs: number; turnMs: number; reads: number }> {
  const reader = await tenant("readers");
  await reader.read();
  const turns = monitorEventLoopDelay({ resolution: 10 });
  turns.enable();
  let [readMs, reads] = [0, 0];
  for (const end = performance.now() + 60_000; performance.now() < end && !(await isDone()); reads++) {
    const began = performance.now();
    await reader.read();
    readMs = Math.max(readMs, performance.now() - began);
    await delay(50);
  }
  turns.disable();
  return { readMs, turnMs: turns.max / 1e6, reads };
}

test("40 scorers of 8 calls: other keys are served meanwhile, also with scores", async () => {
  const [attacker, other] = [await tenant("rival"), await tenant("neighbours")];
  const calls = await Promise.all(
    Array.from({ length: 8 }, (_, index) => attacker.call(`${words(2500)} ${index}`, words(2500).replaceAll("a", "z"))),
  );
  const digits = await attacker.call(`${"1".repeat(200_000)}x`, 1);
  const similar = { measure: "rouge_l" };
  const scorers = await Promise.all(
    Array.from({ length: 39 }, (_, index) =>
      attacker.stored({ ...similar, name: `s${index}` }, "TokenSimilarityScorer"),
    ),
  );
  scorers.push(await attacker.stored({ find: "last" }, "NumericToleranceScorer"));
  const call = await other.call("x", "x");
  const exact = await other.stored({}, "ExactMatchScorer");
  await attacker.score([...calls, digits], scorers);
  await vi.waitFor(() => expect(computingLoad().waiting).toBeGreaterThan(100), { timeout: 20_000 });
  await other.score([call], [exact]);
  await vi.waitFor(
    async () => expect(await other.feedback()).toMatchObject([{ payload: { output: { passed: true } } }]),
    {
      timeout: 20_000,
    },
  );
  expect((await attacker.feedback()).length).toBeLessThan(360);
  const { readMs, turnMs, reads } = await whileReading(async () => (await attacker.feedback()).length === 360);
  expect(reads).toBeGreaterThan(0);
  expect(readMs).toBeLessThan(3000);
  expect(turnMs).toBeLessThan(2000);
}, 120_000);

test("templates of 7 MB in four runs: other keys are served meanwhile", async () => {
  const attacker = await tenant("rival");
  const rows = [{ text: "x".repeat(1_000_000) }];
  const runs = await Promise.all(
    [7, 7, 9, 9].map((times) => attacker.evaluate(`say: ok ${"{text}".repeat(times)}`, rows, { trials: 4 })),
  );
  const statuses = async () => Promise.all(runs.map((id) => attacker.status(id)));
  const { readMs, turnMs, reads } = await whileReading(async () =>
    (await statuses()).every(({ code }) => code === "complete" || code === "failed"),
  );
  expect((await statuses()).map(({ code }) => code)).toEqual(["complete", "complete", "complete", "complete"]);
  expect(reads).toBeGreaterThan(0);
  expect(readMs).toBeLessThan(3000);
  expect(turnMs).toBeLessThan(2000);
}, 120_000);

test("a score that takes too long fails alone, and its neighbours in the job succeed", async () => {
  const acme = await tenant("acme");
  const [slow, fast] = [await acme.stored(bomb, "JsonSchemaScorer"), await acme.stored({}, "ExactMatchScorer")];
  await acme.score([await acme.call(bombed, bombed), await acme.call(bombed, bombed)], [slow, fast]);
  await vi.waitFor(async () => expect(await acme.feedback()).toHaveLength(4), { timeout: 20_000 });
  for (const { runnable_ref, payload } of await acme.feedback()) {
    if (runnable_ref === slow)
      expect(payload).toEqual({ output: null, error: expect.stringContaining("takes longer") });
    else expect(payload).toEqual({ output: { passed: true } });
  }
});

describe("a job that has used up its computing time", () => {
  const manyBombs = async ({ stored }: Awaited<ReturnType<typeof tenant>>) =>
    Promise.all(Array.from({ length: 20 }, (_, index) => stored({ ...bomb, name: `s${index}` }, "JsonSchemaScorer")));
  const used = /have computed for 5 s, which is all that one job may \(HEDDLE_EVALUATION_COMPUTING\)/;

  test("fails with the reason when it is a run", async () => {
    const attacker = await tenant("rival");
    const rows = Array.from({ length: 30 }, (_, index) => ({ prompt: `say: ${bombed}`, index }));
    const id = await attacker.evaluate("{prompt}", rows, { scorers: await manyBombs(attacker) });
    await vi.waitFor(async () => expect((await attacker.status(id)).code).toBe("failed"), { timeout: 60_000 });
    expect(await attacker.status(id)).toMatchObject({ error: expect.stringMatching(used) });
  }, 90_000);

  test("gives the reason as feedback of the calls that are left", async () => {
    const attacker = await tenant("rival");
    const calls = await Promise.all(Array.from({ length: 10 }, () => attacker.call(bombed, 1)));
    await attacker.score(calls, await manyBombs(attacker));
    await vi.waitFor(async () => expect(await attacker.feedback()).toHaveLength(200), { timeout: 60_000 });
    const errors = (await attacker.feedback()).map(({ payload }) => payload.error ?? "");
    expect(errors.filter((error) => used.test(error)).length).toBeGreaterThan(100);
  }, 90_000);
});

test("a run that is deleted ends its tasks, and unused threads end", async () => {
  const attacker = await tenant("rival");
  const scorers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => attacker.stored({ ...bomb, name: `s${index}` }, "JsonSchemaScorer")),
  );
  const id = await attacker.evaluate("{prompt}", [{ prompt: `say: ${bombed}` }], { scorers });
  await vi.waitFor(() => expect(computingLoad().waiting).toBeGreaterThan(5), { timeout: 20_000 });
  await attacker.remove(id);
  await vi.waitFor(() => expect(computingLoad().waiting).toBe(0), { timeout: 3000 });
  await endComputing();
  await vi.waitFor(() => expect(computingLoad()).toEqual({ threads: 0, waiting: 0 }), { timeout: 5000 });
  expect(service.unexpected).toEqual([]);
}, 60_000);
