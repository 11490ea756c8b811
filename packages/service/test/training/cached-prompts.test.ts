import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

interface Asked {
  key?: string;
  salt?: string;
  model?: string;
  turns?: string[];
}

/** Tokens of the prompt, and how many of them were kept from earlier requests. */
async function ask(text: string, { key, salt, model = "heddle/starter", turns = [] }: Asked = {}) {
  const messages = [text, ...turns].map((content, at) => ({ role: at % 2 ? "assistant" : "user", content }));
  const response = await service.fetch("http://in-process/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${key ?? service.owner_key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model,
      messages,
      max_tokens: 2,
      temperature: 0,
      ...(salt !== undefined && { cache_salt: salt }),
    }),
  });
  const answer = (await response.json()) as {
    usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } | null };
    choices: { message: { content: string } }[];
  };
  const { prompt_tokens: tokens, prompt_tokens_details: details } = answer.usage;
  return { tokens, cached: details?.cached_tokens ?? 0, content: answer.choices[0]?.message.content };
}

let prompts = 0;
/** A prompt of about two hundred tokens that no other test has. */
const unique = () => `${prompts++} threads. ${"The weaver passes the shuttle through the warp. ".repeat(12)}`;

test("a prompt that is sent again is found whole, with the same answer, and one with the same beginning in part", async () => {
  const text = unique();
  const first = await ask(text);
  expect(first.cached).toBe(0);
  const again = await ask(text);
  expect(again).toEqual({ ...first, cached: first.tokens });
  const longer = await ask(`${text} And then?`);
  expect(longer.cached).toBeGreaterThan(0);
  expect(longer.cached).toBeLessThan(longer.tokens);
});

test("a conversation finds its earlier turns in each request", async () => {
  const text = unique();
  const first = await ask(text);
  const second = await ask(text, { turns: [String(first.content), "and then?"] });
  expect(second.cached).toBeGreaterThan(first.tokens / 2);
});

test("a salt separates prompts, and so do entities and models", async () => {
  const text = unique();
  const { tokens } = await ask(text, { salt: "one" });
  expect((await ask(text, { salt: "one" })).cached).toBe(tokens);
  expect((await ask(text, { salt: "two" })).cached).toBe(0);
  expect((await ask(text)).cached).toBe(0);
  expect((await ask(text, { model: "random:tiny" })).cached).toBe(0);
  const rival = await service.key({ entity: "rival" });
  expect((await ask(text, { key: rival, salt: "one" })).cached).toBe(0);
  expect((await ask(text, { key: rival, salt: "one" })).cached).toBe(tokens);
});

test.each(["", "x".repeat(1025), "x".repeat(1_000_000)])(
  "a salt of other than 1 to 1,024 characters is refused",
  async (salt) => {
    const response = await service.fetch("http://in-process/v1/chat/completions", {
      method: "POST",
      headers: { authorization: `Bearer ${service.owner_key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "heddle/starter", messages: [{ role: "user", content: "a" }], cache_salt: salt }),
    });
    expect([400, 422]).toContain(response.status);
    expect(JSON.stringify(await response.json())).toContain("cache_salt");
  },
);
