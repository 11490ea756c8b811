import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cpuEngine } from "../cpu-engine.js";
import type { SftJob, TrainingJobEvent } from "@heddle/training";
import { runSftJob } from "@heddle/training";

let directory: string;
let events: TrainingJobEvent[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "heddle-sft-"));
  events = [];
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const example = (question: string, answer: string) => ({
  messages: [
    { role: "user", content: question },
    { role: "assistant", content: answer },
  ],
});
const conversation = {
  messages: [...example("a cat?", "meow").messages, ...example("a dog?", "woof").messages],
};

const run = (rows: unknown[], change: Partial<SftJob> = {}) =>
  runSftJob({
    engine: cpuEngine(),
    from: { baseModel: "random:tiny" },
    directory: join(directory, "checkpoint"),
    seed: 3,
    onEvent: (event) => void events.push(event),
    rows: rows.map((row, at) => ({ line: at + 1, row })),
    ...change,
  });
const steps = () => events.filter(({ type }) => type === "gradient_step").map((event) => event.data);

describe("a supervised job", () => {
  it("goes from rows to a checkpoint, and learns them", async () => {
    const rows = Array.from({ length: 30 }, () => example("what does a cat say?", "meow"));
    const result = await run(rows, { config: { learning_rate: 3e-3, later: true } });
    expect(events[0]).toMatchObject({ data: { num_sequences: 15, batch_size: 2, unknown_settings: ["later"] } });
    expect(steps()).toHaveLength(15);
    expect(steps()[14]?.["loss"]).toBeLessThan(Number(steps()[0]?.["loss"]) / 3);
    expect(result.weights.checkpoint).toBe(join(directory, "checkpoint"));
  });

  it("trains only the last answer if configured", async () => {
    await run([conversation]);
    const all = steps()[0]?.["num_trainable_tokens"];
    events = [];
    await run([conversation], { directory: join(directory, "last"), config: { assistant_turns: "last" } });
    const last = steps()[0]?.["num_trainable_tokens"];
    expect(last).toBeGreaterThan(0);
    expect(last).toBeLessThan(Number(all));
  });

  it("drops rows longer than the context, and counts them", async () => {
    await run([example("why?".repeat(2000), "so"), example("a cat?", "meow")], { config: { batch_size: 1 } });
    expect(steps()[0]).toMatchObject({ num_dropped_trajectories: 1, loss: 0, grad_norm: 0 });
    expect(steps()[1]).toMatchObject({ num_dropped_trajectories: 0 });
  });

  it("drops rows that its memory is too small for before it begins, and trains on the others", async () => {
    const engine = cpuEngine({ memoryBytes: 12_000_000 });
    const { models } = await engine.capabilities();
    const { training, contextLength } = models.find(({ name }) => name === "random:tiny")!;
    expect(training?.maxSequenceTokens).toBeLessThan(contextLength / 4);
    const rows = [300, 20, 1].map((times) => example("why? ".repeat(times), "so"));
    await run(rows, { engine, config: { batch_size: 1 } });
    expect(events[0]).toMatchObject({ data: { num_trajectories: 3, num_dropped_trajectories: 1 } });
    expect(steps().map((step) => step["num_dropped_trajectories"])).toEqual([1, 0, 0]);
    for (const step of steps().slice(1)) expect(step["loss"]).toBeGreaterThan(0);
  });

  it("fails with the reason when it diverges", async () => {
    const rows = Array.from({ length: 40 }, () => example("what does a cat say?", "meow"));
    const failing = run(rows, { config: { learning_rate: [...Array(8).fill(3e-3), ...Array(12).fill(1)] } });
    await expect(failing).rejects.toMatchObject({ code: "failed", details: { reason: "divergence" } });
    expect(steps().at(-1)).toMatchObject({ diverged: 1 });
    expect(existsSync(join(directory, "checkpoint"))).toBe(false);
  });

  it("holds rows out and evaluates them, the same ones each time", async () => {
    const rows = Array.from({ length: 10 }, (_, at) => example(`what does cat ${at} say?`, "meow".repeat(at + 1)));
    const config = { validation_fraction: 0.25, learning_rate: 3e-3, batch_size: 1 };
    await run(rows, { config });
    expect(events[0]).toMatchObject({
      data: { num_sequences: 7, num_validation_trajectories: 3, num_dropped_validation_trajectories: 0 },
    });
    const losses = steps().map((step) => step["val/loss"]);
    expect(losses.every((loss) => typeof loss === "number")).toBe(true);
    expect(losses.at(-1)).toBeLessThan(Number(losses[0]));
    events = [];
    await run(rows, { directory: join(directory, "again"), config });
    expect(steps().map((step) => step["val/loss"])).toEqual(losses);
  });

  it("says why nothing can be trained or evaluated", async () => {
    const given = [example("a cat?", "meow")];
    await expect(run(given, { config: { validation_fraction: 0.5 } })).rejects.toMatchObject({
      code: "invalid",
      loc: ["config", "validation_fraction"],
    });
    const config = { validation_data_url: "other" };
    const rowsOf = (row: unknown) => ({ config, validationRows: [{ line: 1, row }] });
    await expect(run(given, rowsOf(example("why?".repeat(2000), "so")))).rejects.toMatchObject({
      code: "invalid",
      loc: ["config", "validation_data_url"],
    });
    await expect(run(given, rowsOf({ messages: [{ role: "robot" }] }))).rejects.toThrow(/^validation data, line 1: /u);
    expect(events).toEqual([]);
  });

  it("names the line of a bad row before the first event", async () => {
    await expect(run([conversation, { messages: [{ role: "robot" }] }])).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringMatching(/^line 2: /u),
      loc: ["rows", 1, "row", "messages"],
    });
    await expect(run([conversation], { config: { learning_rate: [1, 1] } })).rejects.toMatchObject({
      loc: ["config", "learning_rate"],
    });
    expect(events).toEqual([]);
  });

  it("of an empty file ends with a checkpoint", async () => {
    await run([]);
    expect(events.map(({ type }) => type)).toEqual(["training_started", "training_ended"]);
  });
});
