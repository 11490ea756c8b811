import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cpuEngine } from "../cpu-engine.js";
import type { TrainingEngine, TrainingJobEvent, WeightsRef } from "@heddle/training";
import type { ChatTemplate } from "@heddle/chat-format";
import { runRlJob } from "@heddle/training";
import { openBaseModel } from "@heddle/training/testing";

const tiny = { baseModel: "random:tiny" };
let directory: string;
let engine: TrainingEngine;
let template: ChatTemplate;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "heddle-run-"));
  engine = cpuEngine();
  ({ template } = await openBaseModel({ engine, from: tiny }));
});
afterAll(async () => {
  await engine.close();
  await rm(directory, { recursive: true, force: true });
});

/**
 * Three groups of four answers as returned by the chat endpoint. Answers with many different tokens have high rewards.
 */
async function rollouts(weights: WeightsRef, round: number) {
  const groups = [];
  for (const group of [0, 1, 2]) {
    const messages = [{ role: "user", content: `round ${round}, question ${group}` }];
    const { ids: prompt } = await template.render({ messages });
    const { completions } = await engine.sampler.generate({
      weights,
      prompt,
      n: 4,
      maxTokens: 8,
      seed: 100 * round + 10 * group,
    });
    groups.push({
      trajectories: completions.map(({ text, tokens, finishReason, index }) => ({
        messages_and_choices: [
          ...messages,
          {
            finish_reason: finishReason,
            index,
            message: { role: "assistant", content: text },
            logprobs: {
              content: tokens.map(({ token, logprob }) => ({ token: `token_id:${token}`, logprob, top_logprobs: [] })),
            },
            prompt_token_ids: [...prompt],
            token_ids: tokens.map(({ token }) => token),
          },
        ],
        reward: tokens.reduce((sum, { token }) => sum + (token % 3), 0) / tokens.length,
      })),
    });
  }
  return groups;
}

/** Samples, learns, saves: rounds `from` up to `to`. Returns what the gradient steps reported, without times. */
async function run(name: string, from: number, to: number, weights: WeightsRef = tiny): Promise<unknown[]> {
  const reported: unknown[] = [];
  for (let round = from; round < to; round++) {
    const onEvent = ({ type, data }: TrainingJobEvent): void => {
      if (type === "gradient_step") reported.push({ ...data, tokens_per_second: 0 });
    };
    const groups = await rollouts(weights, round);
    const job = { engine, from: weights, directory: checkpoint(name, round + 1), seed: 9, groups, onEvent };
    ({ weights } = await runRlJob(job));
  }
  return reported;
}

const checkpoint = (name: string, round: number) => join(directory, name, `round-${round}`);

async function bits(directory: string): Promise<string[]> {
  const files = ["model.safetensors", "optimizer.safetensors"].map((file) => readFile(join(directory, file)));
  return (await Promise.all(files)).map((bytes) => createHash("sha256").update(bytes).digest("hex"));
}

describe("five rounds of sampling and learning", () => {
  it("are bitwise reproducible for a seed, also when resumed; sampler and trainer agree", async () => {
    const reported = await run("whole", 0, 5);
    expect(reported).toHaveLength(5);
    for (const step of reported) {
      // The policy that is trained is the one that sampled: nothing is clipped, and old and new probabilities are the
      // same.
      expect(step).toMatchObject({ clip_fraction: 0, importance_ratio_mean: expect.closeTo(1, 4) });
      expect(step).toMatchObject({ approx_kl: expect.closeTo(0, 4), num_dropped_trajectories: 0 });
    }
    const begun = await run("again", 0, 2);
    const ended = await run("again", 2, 5, { ...tiny, checkpoint: checkpoint("again", 2) });
    expect([...begun, ...ended]).toEqual(reported);
    expect(await bits(checkpoint("again", 5))).toEqual(await bits(checkpoint("whole", 5)));
    expect(await bits(checkpoint("whole", 4))).not.toEqual(await bits(checkpoint("whole", 5)));
  }, 60_000);
});
