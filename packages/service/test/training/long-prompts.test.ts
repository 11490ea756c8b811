import { setTimeout as delay } from "node:timers/promises";
import type * as ChatFormat from "@heddle/chat-format";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

// The service answers others while it tokenizes: no tokenizer is opened in its own thread, whatever is asked of it.

const opened = vi.hoisted(() => vi.fn());
vi.mock("@heddle/chat-format", async (original) => {
  const actual = await original<typeof ChatFormat>();
  const openTokenizer = async (directory: string) => {
    opened();
    return await actual.openTokenizer(directory);
  };
  return { ...actual, openTokenizer };
});

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

const create = async (content: string, more: object = {}) =>
  await service.training().createChatCompletion({
    model: "heddle/starter",
    messages: [{ role: "user", content }],
    max_completion_tokens: 1,
    return_token_ids: true,
    seed: 7,
    ...more,
    stream: false,
  });

test("a short prompt, a long one and a list of models open no tokenizer in the thread that answers requests", async () => {
  await create("loom");
  await expect(create("a".repeat(200_000))).rejects.toThrow("body.messages: the maximum context length is 1024 tokens");
  await service.training().listServedModels();
  expect(opened).not.toHaveBeenCalled();
});

test("requests of others are answered while a prompt of one letter is tokenized", async () => {
  const done = vi.fn();
  const long = create("a".repeat(500_000), { truncate_prompt_tokens: 100 }).finally(done);
  for (let answered = 0; answered < 20; answered++) {
    expect((await service.fetch("http://in-process/health")).status).toBe(200);
    await delay(1);
  }
  expect(done).not.toHaveBeenCalled();
  expect((await long).usage.prompt_tokens).toBe(100);
});

test("a prompt of any length is cut to its last tokens", async () => {
  const { prompt_token_ids: short } = await create("b".repeat(600), { truncate_prompt_tokens: 50 });
  const long = await create("b".repeat(300_000), { truncate_prompt_tokens: 50 });
  expect(long.prompt_token_ids).toEqual(short);
  const fits = await create("loom ".repeat(100_000), { truncate_prompt_tokens: -1 });
  expect(fits.usage.prompt_tokens).toBe(1023);
  await expect(create("c".repeat(5_000_000), { truncate_prompt_tokens: 50 })).rejects.toMatchObject({ status: 400 });
});
