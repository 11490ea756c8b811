import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { writeLargeVocabulary } from "./large-vocabulary.js";

const vocabularySize = 40_000;
const directory = mkdtempSync(join(tmpdir(), "heddle-vocabulary-"));
let service: TestService;
let url: string;
beforeAll(async () => {
  writeLargeVocabulary(join(directory, "large"), vocabularySize);
  service = await openTestService(
    { HEDDLE_MODELS_DIR: directory, HEDDLE_MAX_RESPONSE: "30MB", HEDDLE_WORKING_MEMORY: "60MB" },
    { validateResponses: false },
  );
  url = await service.listen();
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
  rmSync(directory, { recursive: true });
});

const ask = {
  model: "dir:large",
  messages: [{ role: "user", content: "loom" }],
  max_completion_tokens: 6,
  ignore_eos: true,
  logprobs: true,
  top_logprobs: -1,
};
const send = async (
  more: object = {},
  { signal, apiKey = service.owner_key }: { signal?: AbortSignal; apiKey?: string } = {},
) =>
  await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    // Compressed, it would fit into the buffers of a socket that nobody reads.
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", "accept-encoding": "identity" },
    body: JSON.stringify({ ...ask, ...more }),
    ...(signal && { signal }),
  });
/** Reads a body without keeping it; parsing would keep the event loop of both sides. */
async function lengthOf(response: Response): Promise<number> {
  let length = 0;
  for await (const bytes of response.body ?? []) length += (bytes as Uint8Array).length;
  return length;
}

interface Entry {
  token: string;
  logprob: number;
  bytes: number[];
}

test("every token of the vocabulary has its log-probability at every position", async () => {
  const response = await send({ max_completion_tokens: 2, truncate_prompt_tokens: 4, prompt_logprobs: -1 });
  const { choices, prompt_logprobs } = (await response.json()) as {
    choices: { logprobs: { content: (Entry & { top_logprobs: Entry[] })[] } }[];
    prompt_logprobs: (Record<string, { logprob: number; rank: number }> | null)[];
  };
  const content = choices[0]?.logprobs.content ?? [];
  const sums = [
    ...content.map(({ top_logprobs }) => top_logprobs),
    ...prompt_logprobs.slice(1).map((each) => Object.values(each ?? {})),
  ].map((list) => [list.length, list.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0)]);
  expect(sums).toHaveLength(2 + prompt_logprobs.length - 1);
  for (const [length, sum] of sums) {
    expect(length).toBe(vocabularySize);
    expect(sum).toBeCloseTo(1, 3);
  }
  const [first] = content;
  expect(first?.top_logprobs.find(({ token }) => token === first.token)).toMatchObject({ logprob: first?.logprob });
});

test("a long response is made between other requests, and keeps none of them waiting", async () => {
  await lengthOf(await send({ max_completion_tokens: 1 }));
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const response = await send();
  let pings = 0;
  const state = { done: false };
  const pinging = (async () => {
    for (; !state.done; pings++) await (await fetch(`${url}/health`)).text();
  })();
  const length = await lengthOf(response);
  state.done = true;
  await pinging;
  delay.disable();
  expect(length).toBeGreaterThan(6 * vocabularySize * 60);
  // What it took in one go before was seconds.
  expect(pings).toBeGreaterThan(10);
  expect(delay.max / 1e6).toBeLessThan(1000);
});

test.each([
  ["top_logprobs", { max_completion_tokens: 20 }],
  ["top_logprobs", { n: 10 }],
  [
    "prompt_logprobs",
    { top_logprobs: 0, prompt_logprobs: -1, messages: [{ role: "user", content: "loom ".repeat(60) }] },
  ],
  ["top_logprobs", { max_completion_tokens: 200, stream: true }],
])("more than a response may have is refused by %s before it is generated", async (field, more) => {
  const generate = vi.spyOn(service.services.training.sampler, "generate");
  const response = await send(more);
  expect(response.status).toBe(413);
  expect(await response.json()).toMatchObject({ error: { message: expect.stringMatching(`${field}.*HEDDLE_`) } });
  expect(generate).not.toHaveBeenCalled();
  generate.mockRestore();
});

test("a key whose responses nobody reads gets 429, others do not, and what it holds is free when it leaves", async () => {
  const [one, other] = await Promise.all([service.key({ entity: "acme" }), service.key({ entity: "rival" })]);
  const leave = new AbortController();
  const unread = await send({}, { apiKey: one, signal: leave.signal });
  expect(unread.status).toBe(200);
  const [refused, served] = await Promise.all([send({}, { apiKey: one }), send({}, { apiKey: other }).then(lengthOf)]);
  expect(refused.status).toBe(429);
  expect(await refused.text()).toContain("HEDDLE_WORKING_MEMORY");
  expect(served).toBeGreaterThan(vocabularySize);
  leave.abort();
  expect(await lengthOf(await send({}, { apiKey: one }))).toBeGreaterThan(vocabularySize);
});

test("a stream has an event for every token, made while it is written", async () => {
  const response = await send({ stream: true, max_completion_tokens: 3 });
  const text = await response.text();
  const events = text.split("\n\n").filter((line) => line.startsWith("data: {"));
  const lists = events
    .map((line) => JSON.parse(line.slice(6)) as { choices: { logprobs: { content: { top_logprobs: [] }[] } | null }[] })
    .flatMap(({ choices }) => choices[0]?.logprobs?.content ?? []);
  expect(lists.map(({ top_logprobs }) => top_logprobs.length)).toEqual(Array(3).fill(vocabularySize));
  expect(text).toMatch(/data: \[DONE\]\n\n$/);
});

test("a call is recorded without what the whole vocabulary would take", async () => {
  const project = newProject();
  const headers = { authorization: `Bearer ${service.owner_key}`, "OpenAI-Project": project };
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ ...ask, max_completion_tokens: 2, truncate_prompt_tokens: 4, prompt_logprobs: -1 }),
  });
  await lengthOf(response);
  const id = response.headers.get("x-heddle-call-id") ?? "";
  const call = await vi.waitFor(
    async () => (await service.tracing().callRead({ project_id: project, id })).call ?? expect.unreachable(),
    10_000,
  );
  const output = call.output as { choices: { logprobs: { content: Entry[] } }[]; prompt_logprobs: unknown };
  expect(output.choices[0]?.logprobs.content).toMatchObject([{ top_logprobs: [] }, { top_logprobs: [] }]);
  expect(output.prompt_logprobs).toBeNull();
});
