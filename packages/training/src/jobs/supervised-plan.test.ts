import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TableEngine } from "../../test/table-engine.js";
import { tableEngine } from "../../test/table-engine.js";
import type { TokenSequence } from "../port.js";
import { runGradientSteps } from "./gradient-loop.js";
import type { TrainingJobEvent } from "./training-job.js";
import { sftConfig } from "./sft-config.js";
import { supervisedPlan } from "./supervised-plan.js";

let directory: string;
let engine: TableEngine;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "heddle-supervised-"));
  engine = tableEngine({ vocabulary: 8 });
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** The token after 0 is trained. */
const row = (token: number): TokenSequence => ({
  tokens: Int32Array.from([5, 0, token]),
  mask: Uint8Array.from([0, 0, 1]),
});
const untrained = { ...row(1), mask: new Uint8Array(3) };

async function learn(rows: (TokenSequence | undefined)[], config: Record<string, unknown>, baseModel = "random:table") {
  const events: TrainingJobEvent[] = [];
  const job = {
    engine,
    from: { baseModel },
    directory: join(directory, "checkpoint"),
    seed: 1,
    onEvent: (event: TrainingJobEvent) => void events.push(event),
    settings: sftConfig(config, rows.length),
    rows,
  };
  const result = await runGradientSteps(job, supervisedPlan(job));
  return { result, events, steps: events.filter(({ type }) => type === "gradient_step").map(({ data }) => data) };
}

describe("learning from examples", () => {
  it("takes rows in their order, and reports the mean loss of a batch before its step", async () => {
    const { steps, result } = await learn([row(1), row(1), row(2), row(1), row(1)], { learning_rate: 0.1 });
    expect(steps.map((data) => data["num_trajectories"])).toEqual([2, 2, 1]);
    expect(steps[0]).toMatchObject({
      loss: expect.closeTo(Math.log(8), 9),
      learning_rate: 0.1,
      num_tokens: 6,
      num_trainable_tokens: 2,
      num_dropped_trajectories: 0,
      gradient_step: 0,
    });
    expect(steps[2]?.["loss"]).toBeLessThan(Math.log(8));
    expect(result).toMatchObject({ gradientSteps: 3, trainedTokens: 5 });
  });

  it("makes a step without effect of a batch without remaining rows", async () => {
    const { steps } = await learn([row(1), row(1), undefined, undefined, row(1), undefined, untrained], {
      learning_rate: 0.1,
    });
    expect(engine.applied).toHaveLength(2);
    expect(steps[1]).toEqual({
      loss: 0,
      grad_norm: 0,
      learning_rate: 0.1,
      num_trajectories: 2,
      num_dropped_trajectories: 2,
      num_tokens: 0,
      num_trainable_tokens: 0,
      tokens_per_second: 0,
      gradient_step: 1,
    });
    expect(steps[3]).toMatchObject({ loss: 0, num_dropped_trajectories: 0, num_trainable_tokens: 0 });
  });

  it("gives each batch its learning rate", async () => {
    await learn([row(1), row(1), row(1)], { batch_size: 1, learning_rate: [0.1, 0, 0.2] });
    expect(engine.applied.map(({ learningRate }) => learningRate)).toEqual([0.1, 0, 0.2]);
  });

  it("warms up and decays for the starter, and is constant for other models", async () => {
    const rows = Array.from({ length: 20 }, () => row(1));
    await learn(rows, {});
    const rates = engine.applied.map(({ learningRate }) => learningRate);
    expect(rates).toHaveLength(10);
    expect(rates[5]).toBe(3e-3);
    expect(rates[9]).toBeCloseTo(1.5e-4, 12);
    await rm(join(directory, "checkpoint"), { recursive: true });
    engine = tableEngine({ vocabulary: 8 });
    await learn(rows, {}, "dir:real");
    expect(new Set(engine.applied.map(({ learningRate }) => learningRate))).toEqual(new Set([5e-5]));
    expect(engine.applied[0]).toMatchObject({ weightDecay: 0.01, maxGradientNorm: 1, beta2: 0.99 });
  });

  it("without rows writes the initial weights", async () => {
    const { events, result } = await learn([], {});
    expect(events.map(({ type }) => type)).toEqual(["training_started", "training_ended"]);
    expect(events[0]?.data).toMatchObject({ num_sequences: 0 });
    const trainer = await engine.openTrainer({ weights: result.weights, seed: 0 });
    expect((await trainer.logprobs([row(1)]))[0]?.[2]).toBeCloseTo(-Math.log(8), 12);
  });

  describe("and evaluating others", () => {
    const rows = Array.from({ length: 10 }, () => row(1));
    const job = (name: string, evaluated: TokenSequence[], config: Record<string, unknown>) => {
      const events: TrainingJobEvent[] = [];
      const params = {
        engine,
        from: { baseModel: "random:table" },
        directory: join(directory, name),
        workDirectory: join(directory, `${name}-work`),
        seed: 1,
        onEvent: (event: TrainingJobEvent) => void events.push(event),
        settings: sftConfig(
          { batch_size: 1, learning_rate: 0.1, validation_data_url: "other", ...config },
          rows.length,
        ),
        rows,
        validationRows: evaluated,
      };
      return {
        events,
        params,
        run: async (change: object = {}) => {
          const changed = { ...params, ...change };
          return await runGradientSteps(changed, supervisedPlan(changed));
        },
      };
    };
    /** Runs a job to its end with a pause as soon as it may. */
    const runWithPauses = async ({ events, run }: ReturnType<typeof job>) => {
      for (let runs = 0, isDone = false; !isDone && runs < 20; runs++) {
        const steps = events.filter(({ type }) => type === "gradient_step").length;
        const reported = { started: events.length > 0, gradientSteps: steps };
        isDone = await run({ reported, shouldPause: () => true }).then(
          () => true,
          () => false,
        );
      }
    };
    const evaluations = (events: TrainingJobEvent[]) =>
      events.flatMap(({ data }) => (data["gradient_step"] === undefined ? [] : [data["val/loss"]]));
    const ended = (events: TrainingJobEvent[]) => events.at(-1)?.data;

    it("measures the mean loss of their tokens every few steps and after the last", async () => {
      const { events, run } = job("a", [row(1), row(2)], { eval_steps: 4 });
      await run();
      const found = evaluations(events);
      expect(found.flatMap((loss, at) => (loss === undefined ? [] : [at]))).toEqual([3, 7, 9]);
      // Training makes the 1 likelier, and the 2 less likely in the same way as the six others.
      const [last = NaN] = found.slice(-1).map(Number);
      const trainer = await engine.openTrainer({
        weights: { baseModel: "random:table", checkpoint: join(directory, "a") },
        seed: 0,
      });
      const [[, , one = NaN] = [], [, , two = NaN] = []] = await trainer.logprobs([row(1), row(2)]);
      await trainer.close();
      expect(last).toBeCloseTo(-(one + two) / 2, 12);
      expect(ended(events)).toMatchObject({ "val/loss": last, num_gradient_steps: 10 });
      expect(ended(events)).not.toHaveProperty("stopped_early");
    });

    it("ends early when the loss has not become lower for as long as asked, and names the best step", async () => {
      const { events, run } = job("b", [row(2)], { eval_steps: 1, early_stopping_patience: 3 });
      expect(await run()).toMatchObject({ gradientSteps: 4 });
      const found = evaluations(events).map(Number);
      expect(found).toHaveLength(4);
      expect(Math.min(...found)).toBe(found[0]);
      expect(ended(events)).toMatchObject({
        num_gradient_steps: 4,
        stopped_early: 1,
        "val/loss": found[3],
        "val/best_loss": found[0],
        "val/best_gradient_step": 0,
      });
      expect(events[0]?.data).toMatchObject({ num_sequences: 10 });
    });

    it("keeps the weights of the best evaluation where asked, with their optimizer state", async () => {
      const evaluated = [row(2)];
      const settings = { eval_steps: 2, keep_best_weights: true };
      const kept = job("k", evaluated, settings);
      await kept.run();
      const found = evaluations(kept.events);
      const best = Math.min(...found.flatMap((loss) => (typeof loss === "number" ? [loss] : [])));
      const at = found.indexOf(best);
      expect(at).toBeLessThan(9);
      expect(ended(kept.events)).toMatchObject({
        num_gradient_steps: 10,
        "val/loss": best,
        "val/best_loss": best,
        "val/best_gradient_step": at,
      });
      // A job that ends there has the same weights, moments and steps.
      await job("k2", evaluated, settings).run({ rows: rows.slice(0, at + 1) });
      const table = async (name: string) => await readFile(join(directory, name, "table.json"), "utf8");
      expect(await table("k")).toBe(await table("k2"));
      expect(existsSync(join(directory, "k-work"))).toBe(false);
      // A server keeps nothing of it, either.
      expect(engine.deleted).toContain(join(directory, "k-work", `step-${at + 1}`));
    });

    it("keeps the best weights over pauses and further checkpoints", async () => {
      const settings = { eval_steps: 2, keep_best_weights: true };
      const whole = job("l", [row(2)], settings);
      await whole.run();
      const paused = job("m", [row(2)], settings);
      await runWithPauses(paused);
      const table = async (name: string) => await readFile(join(directory, name, "table.json"), "utf8");
      expect(await table("m")).toBe(await table("l"));
    });

    it("refuses to keep the best weights where nothing is evaluated", () => {
      expect(() => sftConfig({ keep_best_weights: true }, 4)).toThrow(/keep_best_weights needs rows to evaluate/);
      expect(sftConfig({ keep_best_weights: false }, 4).validation).toBeUndefined();
    });

    it("goes on after each pause as if there had been none", async () => {
      const settings = { eval_steps: 2, early_stopping_patience: 2 };
      const whole = job("c", [row(2)], settings);
      await whole.run();
      const paused = job("d", [row(2)], settings);
      await runWithPauses(paused);
      const untimed = ({ type, data }: TrainingJobEvent) => ({ type, data: { ...data, tokens_per_second: 0 } });
      expect(paused.events.map(untimed)).toEqual(whole.events.map(untimed));
    });

    it("reports the same end after a crash between its checkpoint and its last event", async () => {
      const { events, params, run } = job("e", [row(2)], { eval_steps: 1, early_stopping_patience: 1 });
      const crash = (event: TrainingJobEvent) => {
        if (event.type === "training_ended") throw new Error("the process died");
        params.onEvent(event);
      };
      await expect(run({ onEvent: crash })).rejects.toThrow("died");
      await run({ reported: { started: true, gradientSteps: 2 } });
      expect(ended(events)).toMatchObject({ num_gradient_steps: 2, stopped_early: 1, "val/best_gradient_step": 0 });
    });
  });
});
