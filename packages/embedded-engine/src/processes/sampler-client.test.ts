import { EventEmitter, once } from "node:events";
import { expect, it } from "vitest";
import { HeddleError } from "@heddle/errors";
import type { GenerateRequest } from "@heddle/training";
import { restartingSampler } from "./sampler-client.js";

const request: GenerateRequest = {
  weights: { baseModel: "random:tiny" },
  prompt: Int32Array.of(1),
  n: 1,
  maxTokens: 1,
};

it("rejects requests with the reason during a crash loop of the process", async () => {
  let starts = 0;
  const lines: string[] = [];
  const ends = new EventEmitter();
  const sampler = restartingSampler(
    async () => {
      starts++;
      throw new HeddleError("failed", "the sampling process exited with code 7");
    },
    (line) => ends.emit(`end ${lines.push(line)}`),
  );
  const fourth = once(ends, "end 4");
  expect(sampler.failureReason()).toBeUndefined();
  await expect(sampler.generate(request)).rejects.toMatchObject({ code: "failed" });
  await fourth;
  expect(sampler.failureReason()).toMatch(/4 times in a row.*code 7/);
  await expect(sampler.generate(request)).rejects.toMatchObject({
    code: "busy",
    message: expect.stringContaining("within 1 s"),
  });
  expect(starts).toBe(4);
  expect(lines).toHaveLength(4);
  await sampler.close();
  await expect(sampler.generate(request)).rejects.toMatchObject({ code: "aborted" });
  expect(starts).toBe(4);
});

it("rejects a request that is aborted while the process starts", async () => {
  const sampler = restartingSampler(
    () => new Promise(() => undefined),
    () => undefined,
  );
  const controller = new AbortController();
  const completion = sampler.generate(request, { signal: controller.signal });
  controller.abort();
  await expect(completion).rejects.toMatchObject({ code: "aborted" });
});
