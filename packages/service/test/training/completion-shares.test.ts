import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  // Some rows of the longest completions fit into the part of the memory that is for sampling.
  service = await openTestService({ HEDDLE_TRAINING_MEMORY: "500MB", HEDDLE_RECORD_COMPLETIONS: "off" });
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

const messages = [{ role: "user", content: "Say the word loom." }];
const long = { model: "heddle/starter", messages, max_completion_tokens: 950, ignore_eos: true, stream: true };

test("60 streams of one key delay a short completion neither of another entity nor of another key of theirs", async () => {
  const url = await service.listen();
  const [one, sibling, other] = await Promise.all([
    service.key({ entity: "acme" }),
    service.key({ entity: "acme" }),
    service.key({ entity: "rival" }),
  ]);
  const leave = new AbortController();
  let ended = 0;
  const send = async (apiKey: string, body: object) =>
    await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: leave.signal,
    });
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const streams = Array.from({ length: 60 }, async () => {
    const response = await send(one, long);
    for await (const _ of response.body ?? []) begin();
    ended++;
  });
  const settled = Promise.allSettled(streams);
  await begun;
  for (const apiKey of [other, sibling, other, sibling]) {
    const response = await send(apiKey, { ...long, stream: false, max_completion_tokens: 5 });
    const { usage } = (await response.json()) as { usage: { completion_tokens: number } };
    expect(usage.completion_tokens).toBe(5);
    expect(ended).toBe(0);
  }
  leave.abort();
  await settled;
});
