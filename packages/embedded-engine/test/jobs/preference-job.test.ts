import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PreferenceJob, TrainingJobEvent } from "@heddle/training";
import { runPreferenceJob } from "@heddle/training";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cpuEngine } from "../cpu-engine.js";

let directory: string;
let events: TrainingJobEvent[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "heddle-preferences-"));
  events = [];
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const prompt = (text: string) => [{ role: "user", content: text }];
const answer = (content: string | null) => ({ role: "assistant", content });
const pair = (question: string, better: string, worse: string) => ({
  prompt: prompt(question),
  chosen: answer(better),
  rejected: [answer(worse)],
});
const rating = (question: string, text: string, label: boolean) => ({
  prompt: prompt(question),
  completion: answer(text),
  label,
});
const animals = ["cat", "dog", "cow", "hen", "pig", "bee"];
const pairs = animals.map((animal) => pair(`a ${animal}?`, "yes", "no"));
const ratings = animals.flatMap((animal) => [rating(`a ${animal}?`, "yes", true), rating(`a ${animal}?`, "no", false)]);

const run = (rows: unknown[], change: Partial<PreferenceJob> = {}) =>
  runPreferenceJob({
    engine: cpuEngine(),
    from: { baseModel: "random:tiny" },
    directory: join(directory, "checkpoint"),
    seed: 3,
    onEvent: (event) => void events.push(event),
    rows: rows.map((row, at) => ({ line: at + 1, row })),
    ...change,
  });
const steps = () => events.filter(({ type }) => type === "gradient_step").map((event) => event.data);

describe("a job that learns preferences", () => {
  it("learns which of two answers is better, from the reference that it starts from", async () => {
    await run(pairs, { config: { batch_size: 3, num_epochs: 6, learning_rate: 1e-3, later: true } });
    expect(events[0]).toMatchObject({
      data: { num_sequences: 12, num_pairs: 6, batch_size: 3, num_epochs: 6, unknown_settings: ["later"] },
    });
    expect(steps()[0]).toMatchObject({ loss: expect.closeTo(Math.LN2, 5), reward_margin: 0, reward_accuracy: 0 });
    const last = steps().at(-1);
    expect(last).toMatchObject({ num_pairs: 3, reward_accuracy: 1 });
    expect(last?.["loss"]).toBeLessThan(0.4);
    expect(last?.["reward_margin"]).toBeGreaterThan(0);
  });

  it("learns from ratings of single answers", async () => {
    const config = { objective: "kto", batch_size: 4, num_epochs: 6, learning_rate: 1e-3 };
    await run(ratings, { config });
    expect(events[0]).toMatchObject({ data: { num_ratings: 12, num_desirable: 6, num_undesirable: 6 } });
    expect(steps()[0]).toMatchObject({ loss: expect.closeTo(0.5, 5), kl: 0 });
    expect(steps().at(-1)?.["loss"]).toBeLessThan(0.45);
  });

  it("shuffles its rows unless told otherwise, and a rating is never alone in its batch", async () => {
    const counts = () => steps().map((data) => data["num_ratings"]);
    await run(ratings.slice(0, 5), { config: { objective: "kto", batch_size: 2, shuffle: false } });
    expect(counts()).toEqual([2, 3]);
    const kinds = steps().map((data) => data["num_desirable"]);
    expect(kinds).toEqual([1, 2]);
    events = [];
    const sorted = ratings.toSorted((left, right) => Number(right.label) - Number(left.label));
    await run(sorted, { directory: join(directory, "shuffled"), config: { objective: "kto", batch_size: 6 } });
    expect(steps().every((data) => Number(data["num_desirable"]) % 6 !== 0)).toBe(true);
  });

  it("has the learning rate of its schedule", async () => {
    const config = {
      batch_size: 2,
      learning_rate: 1e-3,
      learning_rate_schedule: "linear",
      learning_rate_warmup_steps: 1,
    };
    await run(pairs, { config });
    expect(steps().map((data) => data["learning_rate"])).toEqual([0.0005, 0.001, 0.0005]);
  });

  it("reads pairs without a prompt, as conversations that end differently", async () => {
    const whole = pairs.map(({ prompt, chosen, rejected }) => ({
      chosen: [...prompt, chosen],
      rejected: [...prompt, ...rejected],
    }));
    const config = { learning_rate: 1e-3 };
    await run(whole, { config });
    const [first] = steps();
    events = [];
    await run(pairs, { config, directory: join(directory, "with-prompt") });
    expect({ ...steps()[0], tokens_per_second: 0 }).toEqual({ ...first, tokens_per_second: 0 });
  });

  it("leaves out pairs that teach nothing or are too long, and names and counts them", async () => {
    const rows = [
      ...pairs,
      pair("a fox?", "yes", "yes"),
      pair("an owl?", " ", "no"),
      pair("why?".repeat(2000), "a", "b"),
    ];
    await run(rows);
    expect(events[0]?.data).toMatchObject({
      num_pairs: 6,
      num_dropped_equal_answers: 1,
      num_dropped_empty_answer: 1,
      num_dropped_too_long: 1,
      warning: expect.stringMatching(
        /^Not trained: 1 rows have two equal answers \(lines 7\); 1 rows prefer an empty answer \(lines 8\); 1 rows have more than \d+ tokens \(lines 9\)\.$/u,
      ),
    });
    await expect(run(rows.slice(6), { directory: join(directory, "nothing") })).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringMatching(/^Nothing can be trained: /u),
    });
  });

  it("refuses ratings of one kind only: they do not say what to prefer", async () => {
    const good = ratings.filter(({ label }) => label);
    await expect(run(good, { config: { objective: "kto" } })).rejects.toMatchObject({
      code: "invalid",
      message: "All 6 ratings that can be trained are desirable (label true); kto needs some of both kinds.",
    });
  });

  it("fails with the reason when it diverges", async () => {
    const config = { learning_rate: 1, num_epochs: 20, batch_size: 2 };
    await expect(run(pairs, { config })).rejects.toMatchObject({ code: "failed", details: { reason: "divergence" } });
    expect(existsSync(join(directory, "checkpoint"))).toBe(false);
  });

  const wrong: [string, unknown, RegExp, (string | number)[]][] = [
    ["a row without a prompt", { chosen: answer("a"), rejected: answer("b") }, /chosen must be a list/u, ["chosen"]],
    ["a missing answer", { ...pairs[0], rejected: null }, /rejected is missing/u, ["rejected"]],
    ["an answer of the user", { ...pairs[0], chosen: prompt("a")[0] }, /message of the assistant/u, ["chosen"]],
    ["two messages as an answer", { ...pairs[0], chosen: [answer("a"), answer("b")] }, /not 2/u, ["chosen"]],
    ["an empty prompt", { ...pairs[0], prompt: [] }, /no message before/u, ["prompt"]],
    ["a prompt that is not a message", { ...pairs[0], prompt: ["why?"] }, /object/u, ["prompt", 0]],
    ["a rating", ratings[0], /kto/u, ["label"]],
    [
      "conversations that differ before the end",
      { chosen: [...prompt("a"), answer("b")], rejected: [...prompt("b"), answer("a")] },
      /same conversation/u,
      ["rejected"],
    ],
  ];
  it.each(wrong)("names the line and the field of a bad row: %s", async (_, row, message, loc) => {
    await expect(run([pairs[0], row])).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringMatching(new RegExp(`^line 2: .*(?:${message.source})`, "u")),
      loc: ["rows", 1, "row", ...loc],
    });
    expect(events).toEqual([]);
  });

  const settings: [object, string][] = [
    [{ objective: "ppo" }, "objective"],
    [{ beta: 0 }, "beta"],
    [{ label_smoothing: 0.5 }, "label_smoothing"],
    [{ label_smoothing: 0.1, length_normalization: true }, "length_normalization"],
    [{ desirable_weight: 2 }, "desirable_weight"],
    [{ objective: "kto", label_smoothing: 0.1 }, "label_smoothing"],
    [{ objective: "kto", batch_size: 1 }, "batch_size"],
    [{ objective: "kto", desirable_weight: 0, undesirable_weight: 0 }, "undesirable_weight"],
    [{ batch_size: 0 }, "batch_size"],
    [{ learning_rate: 2 }, "learning_rate"],
  ];
  it.each(settings)("refuses a setting by its name: %j", async (config, name) => {
    await expect(run(pairs, { config })).rejects.toMatchObject({ code: "invalid", loc: ["config", name] });
  });
});
