import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { locOf } from "@heddle/errors/testing";
import { cpuEngine } from "../cpu-engine.js";
import type { RlJob, TrainingJobEvent } from "@heddle/training";
import { runRlJob } from "@heddle/training";

let directory: string;
let events: TrainingJobEvent[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "heddle-rl-"));
  events = [];
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** A choice as returned by the chat endpoint: 1017 ends the turn. */
const choice = (content: string, ids: number[], change: Record<string, unknown> = {}) => ({
  finish_reason: "stop",
  index: 0,
  message: { role: "assistant", content },
  logprobs: {
    content: [...ids, 1017].map((id) => ({
      token: `token_id:${id}`,
      logprob: -6 - id / 1000,
      bytes: null,
      top_logprobs: [],
    })),
  },
  ...change,
});
const trajectory = (reward: number, answer: unknown, change: Record<string, unknown> = {}) => ({
  messages_and_choices: [{ role: "user", content: "yes or no?" }, answer],
  reward,
  ...change,
});
const yes = choice("yes", [121, 101, 115]);
const no = choice("no", [110, 111]);

const run = (groups: unknown, change: Partial<RlJob> = {}) =>
  runRlJob({
    engine: cpuEngine(),
    from: { baseModel: "random:tiny" },
    directory: join(directory, "checkpoint"),
    seed: 3,
    onEvent: (event) => void events.push(event),
    groups,
    ...change,
  });
const data = (type: TrainingJobEvent["type"]) =>
  events.filter((event) => event.type === type).map((event) => event.data);

describe("a reinforcement learning job", () => {
  it("goes from submitted trajectories to a checkpoint", async () => {
    const result = await run(
      [
        { trajectories: [trajectory(1, yes), trajectory(0, no)], metrics: { hard: 3 } },
        {
          trajectories: [trajectory(1, yes), trajectory(1, no)],
          exceptions: [{ type: "E", message: "m", traceback: "" }],
        },
      ],
      { config: { learning_rate: 0.001, new_setting: 1, ppo: null } },
    );
    expect(events.map(({ type }) => type)).toEqual(["training_started", "gradient_step", "training_ended"]);
    expect(data("training_started")[0]).toMatchObject({
      num_sequences: 1,
      num_groups_submitted: 2,
      num_groups_trainable: 1,
      num_trajectories: 4,
      unknown_settings: ["new_setting"],
    });
    expect(data("gradient_step")[0]).toMatchObject({
      num_trainable_tokens: 4 + 3,
      num_datums: 2,
      learning_rate: 0.001,
      reward: 0.75,
      reward_std_dev: 0.25,
      exception_rate: 0.2,
      group_metric_hard: 3,
      gradient_step: 0,
    });
    for (const key of ["loss", "grad_norm", "entropy", "probs_corr", "clip_fraction", "tokens_per_second"]) {
      expect(data("gradient_step")[0]?.[key]).toSatisfy(Number.isFinite);
    }
    expect(result).toMatchObject({ gradientSteps: 1, trainedTokens: 7 });
    expect(existsSync(join(directory, "checkpoint", "model.safetensors"))).toBe(true);
  });

  it("reports the policy lag of the rollouts", async () => {
    const versions = { initial_policy_version: 3, final_policy_version: 5 };
    await run([{ trajectories: [trajectory(1, yes, versions), trajectory(0, no)] }]);
    expect(data("gradient_step")[0]).toMatchObject({ policy_lag: 2 });
  });

  it("ends with the initial weights if all rewards of every group are equal, or there is no group", async () => {
    await run([{ trajectories: [trajectory(0.1, yes), trajectory(0.1, no), trajectory(0.1, no)] }]);
    expect(events.map(({ type }) => type)).toEqual(["training_started", "training_ended"]);
    expect(data("training_started")[0]).toMatchObject({
      num_sequences: 0,
      num_groups_submitted: 1,
      num_groups_trainable: 0,
    });
    await run([], { directory: join(directory, "other") });
    const [one, other] = ["checkpoint", "other"].map((name) => readFile(join(directory, name, "model.safetensors")));
    expect((await one)?.equals(await other!)).toBe(true);
  });

  it("reports samples without log-probabilities", async () => {
    const silent = (content: string) => choice(content, [], { logprobs: null });
    const groups = [{ trajectories: [trajectory(1, silent("yes")), trajectory(0, silent("no"))] }];
    await expect(run(groups)).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("no_logprobs: 2"),
      loc: ["groups", 0, "trajectories", 0, "messages_and_choices", 1],
    });
    expect(events).toEqual([]);
    // Equal rewards have no effect, so log-probabilities are not required.
    await run([{ trajectories: [trajectory(1, silent("yes")), trajectory(1, silent("no"))] }]);
    expect(data("training_started")[0]).toMatchObject({ num_sequences: 0 });
  });

  it("trains answers without log-probabilities if this is allowed", async () => {
    const plain = (content: string) => ({ role: "assistant", content });
    const groups = [{ trajectories: [trajectory(1, plain("yes")), trajectory(0, plain("no"))] }];
    await expect(run(groups)).rejects.toMatchObject({ code: "invalid" });
    await run(groups, { config: { allow_training_without_logprobs: true } });
    expect(data("gradient_step")[0]?.["num_trainable_tokens"]).toBeGreaterThan(0);
    expect(data("gradient_step")[0]).not.toHaveProperty("approx_kl");
  });

  it("drops what is longer than the context, and counts it", async () => {
    const long = { messages_and_choices: [{ role: "user", content: "why ".repeat(1000) }, yes], reward: 1 };
    await run([{ trajectories: [long, trajectory(0, no)] }]);
    expect(data("gradient_step")[0]).toMatchObject({ num_datums: 1, num_dropped_trajectories: 1, num_trajectories: 2 });
    expect(data("training_started")[0]).toMatchObject({ num_untrainable_too_long: 1 });
    events = [];
    await run([{ trajectories: [long, { ...long, reward: 0 }] }], { directory: join(directory, "other") });
    expect(data("training_started")[0]).toMatchObject({ num_sequences: 0, num_dropped_trajectories: 2 });
  });

  it.each([
    ["a reward that is not a number", [{ trajectories: [trajectory(NaN, yes)] }], "groups.0.trajectories.0.reward"],
    ["a reward above the maximum", [{ trajectories: [trajectory(1e200, yes)] }], "groups.0.trajectories.0.reward"],
    ["groups that are not a list", { trajectories: [] }, "groups"],
  ])("refuses %s before the first event", async (_, groups, path) => {
    await expect(run(groups)).rejects.toMatchObject({ code: "invalid", loc: locOf(path) });
    expect(events).toEqual([]);
  });

  it("refuses invalid settings and unknown models", async () => {
    await expect(run([], { config: { epsilon: "wide" } })).rejects.toMatchObject({
      loc: ["config", "epsilon"],
    });
    await expect(run([], { from: { baseModel: "random:huge" } })).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining("random:tiny"),
    });
  });
});
