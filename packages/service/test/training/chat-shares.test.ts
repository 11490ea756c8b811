import { chatThreadLoad } from "@heddle/chat-format";
import { createTrainingClient } from "@heddle/client/training";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

// One key sends expensive requests. Another entity's completions must not wait for them.

const waitingPerKey = 60;
let service: TestService;
let attacker: string;
let neighbour: string;
beforeAll(async () => {
  service = await openTestService({
    HEDDLE_COMPLETION_SLOTS: "32",
    HEDDLE_COMPLETIONS_WAITING: String(waitingPerKey),
    HEDDLE_RECORD_COMPLETIONS: "off",
  });
  attacker = await service.key({ entity: "crowd", user_name: "mallory" });
  neighbour = await service.key({ entity: "quiet", user_name: "nora" });
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

const ask = { model: "heddle/starter", messages: [{ role: "user", content: "loom" }], max_completion_tokens: 2 };
type Ask = Parameters<ReturnType<TestService["training"]>["createChatCompletion"]>[0];

/** Sends a request; resolves with its status. */
async function status(key: string, more: object = {}, signal?: AbortSignal): Promise<number> {
  const fetch = (input: Request | string | URL, init?: RequestInit) =>
    service.fetch(input, { ...init, ...(signal && { signal }) });
  const client = createTrainingClient({ baseUrl: "http://in-process", fetch, retries: 0, apiKey: key });
  return await client.createChatCompletion({ ...ask, ...more } as Ask).then(
    () => 200,
    (error: unknown) => (error as { status?: number }).status ?? 0,
  );
}

/** About 200 bytes that need the steps of a whole rendering; the number makes them different. */
const expensive = (index: number) => ({
  chat_template: `{# ${index} #}{% for a in range(9999) %}{% for b in range(9999) %}{% if a ~ b == 'x' %}y{% endif %}{% endfor %}{% endfor %}{{ messages }}`,
});

test("60 requests with expensive templates do not delay another entity, and leave nothing behind", async () => {
  const leave = new AbortController();
  let done = 0;
  const attack = Array.from({ length: 60 }, async (_, index) => {
    await status(attacker, expensive(index), leave.signal).catch(() => {});
    done += 1;
  });
  await vi.waitFor(() => expect(chatThreadLoad().templates).toBeGreaterThan(10), { timeout: 30_000 });
  expect(await status(neighbour)).toBe(200);
  // Its own template is rendered by the thread that the other entity cannot have.
  expect(await status(neighbour, { chat_template: "{{ messages[0].content }}" })).toBe(200);
  expect(done).toBeLessThan(50);
  leave.abort();
  await Promise.all(attack);
  await vi.waitFor(() => expect(chatThreadLoad().templates).toBe(0), { timeout: 30_000 });
  expect(await status(attacker, { chat_template: "{{ messages[0].content }}" })).toBe(200);
});

test("more requests of a key than may wait are refused with 429 before anything is done for them", async () => {
  const leave = new AbortController();
  const statuses: number[] = [];
  const attack = Array.from({ length: 16 + waitingPerKey + 5 }, async (_, index) => {
    statuses.push(await status(attacker, expensive(index), leave.signal).catch(() => 0));
  });
  await vi.waitFor(() => expect(statuses.filter((each) => each === 429)).toHaveLength(5), { timeout: 30_000 });
  expect(chatThreadLoad().templates).toBeLessThan(16);
  leave.abort();
  await Promise.all(attack);
});

test("long texts are tokenized in turns, too", async () => {
  const leave = new AbortController();
  let done = 0;
  const attack = Array.from({ length: 20 }, async (_, index) => {
    const content = `${index} ${"漢é!".repeat(8000)}`;
    const messages = [{ role: "user", content }];
    await status(attacker, { messages, truncate_prompt_tokens: 10 }, leave.signal).catch(() => {});
    done += 1;
  });
  await vi.waitFor(() => expect(chatThreadLoad().texts).toBeGreaterThan(2), { timeout: 30_000 });
  expect(await status(neighbour, { messages: [{ role: "user", content: "word ".repeat(600) }] })).toBe(200);
  expect(done).toBeLessThan(20);
  leave.abort();
  await Promise.all(attack);
});

test("12 expressions that take long to compile do not delay another entity", async () => {
  const leave = new AbortController();
  let done = 0;
  const attack = Array.from({ length: 12 }, async (_, index) => {
    await status(attacker, { structured_outputs: { regex: `(.{99}){0,${39 + index}}` } }, leave.signal).catch(() => {});
    done += 1;
  });
  expect(await status(neighbour)).toBe(200);
  expect(await status(neighbour, { structured_outputs: { regex: "[a-z]{3}" } })).toBe(200);
  expect(done).toBeLessThan(12);
  leave.abort();
  await Promise.all(attack);
  // The same thread serves the entity again.
  expect(await status(attacker, { structured_outputs: { regex: "[0-9]{3}" } })).toBe(200);
});

test("an expression whose automaton would be too large is refused with its field", async () => {
  const refused = await service
    .training(neighbour)
    .createChatCompletion({ ...ask, structured_outputs: { regex: "[ab]*a[ab]{60}" } } as Ask)
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ body: { error: { param: "structured_outputs.regex" } } });
});
