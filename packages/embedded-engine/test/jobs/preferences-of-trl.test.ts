import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { HeddleError } from "@heddle/errors";
import { preferenceConfig } from "@heddle/training";
import type { TokenSequence, Trainer, TrainingEngine, TrainingJobEvent } from "@heddle/training";
import { preferencePlan, runGradientSteps } from "@heddle/training/testing";
import type { PreferenceRow } from "@heddle/training/testing";
import { describe, expect, it } from "vitest";
import { createCpuTrainer } from "../../src/trainer/trainer.js";
import { readAdapter } from "../../src/weights/adapter.js";
import { loadModel } from "../../src/weights/model-directory.js";
import { fixtures, scratchDirectories } from "../weight-files.js";

/** See `fixtures/make-preferences.py`. */
interface Case {
  name: string;
  settings: Record<string, number | string>;
  rows: Record<"prompt_ids" | "chosen_ids" | "rejected_ids" | "completion_ids" | "label", number[]>[];
  steps: Record<string, number>[];
  answers: number[];
}

const cases: Case[] = JSON.parse(await readFile(join(fixtures, "preferences.json"), "utf8"));
const scratch = scratchDirectories();

const settingNames: Record<string, string> = {
  per_device_train_batch_size: "batch_size",
  num_train_epochs: "num_epochs",
};
const metricNames: Record<string, string> = {
  "rewards/chosen": "reward_chosen",
  "rewards/rejected": "reward_rejected",
  "rewards/margins": "reward_margin",
  "rewards/accuracies": "reward_accuracy",
  "logps/chosen": "logprob_chosen",
  "logps/rejected": "logprob_rejected",
};

function configOf({ settings: { loss_type: loss, ...settings }, rows }: Case) {
  const named = Object.entries(settings).map(([name, value]) => [settingNames[name] ?? name, value]);
  return preferenceConfig({
    ...Object.fromEntries(named),
    objective: rows[0]?.chosen_ids ? "dpo" : "kto",
    shuffle: false,
    ...(loss === "sigmoid_norm" && { length_normalization: true }),
  });
}

function sequence(prompt: number[], answer: number[]): TokenSequence {
  const tokens = Int32Array.from([...prompt, ...answer]);
  return { tokens, mask: Uint8Array.from(tokens, (_, t) => (t >= prompt.length ? 1 : 0)) };
}

const rowsOf = ({ rows }: Case): PreferenceRow[] =>
  rows.map(({ prompt_ids: prompt, chosen_ids: chosen, rejected_ids: rejected, completion_ids: answer, label }) =>
    answer
      ? { answer: sequence(prompt, answer), desirable: Boolean(label) }
      : { chosen: sequence(prompt, chosen), rejected: sequence(prompt, rejected) },
  );

/** An engine that trains the adapter of the fixtures, and gives its last trainer to `onTrained`. */
function adapterEngine(): TrainingEngine {
  const unused = async (): Promise<never> => {
    throw new HeddleError("unsupported", "Only trainers are used.");
  };
  return {
    capabilities: unused,
    health: unused,
    weightsDigest: unused,
    adapterOf: unused,
    deleteWeights: async () => undefined,
    sampler: { unsupportedFields: () => [], generate: unused, preload: unused, unload: unused },
    close: async () => undefined,
    openTrainer: async (): Promise<Trainer> => {
      const model = await loadModel(join(fixtures, "models", "qwen3-tied"));
      const adapter = await readAdapter(join(fixtures, "adapters", "qwen3-tied-lora"), model.config);
      const trainer = await createCpuTrainer({ ...model, adapter, memoryBytes: 1e9, threads: 1 });
      const saved = async (checkpoint: string) => ({ baseModel: "fixture", checkpoint });
      return { ...trainer, adapter: adapter.config, saveState: saved, exportWeights: saved };
    },
  };
}

async function train(recorded: Case) {
  const steps: Record<string, number>[] = [];
  const rows = rowsOf(recorded);
  const sequences = rows.flatMap((row) => ("answer" in row ? [row.answer] : [row.chosen, row.rejected]));
  let answers: number[] = [];
  const job = {
    engine: adapterEngine(),
    from: { baseModel: "fixture" },
    directory: join(await scratch(), "checkpoint"),
    seed: 1,
    onEvent: ({ type, data }: TrainingJobEvent) => {
      if (type === "gradient_step") steps.push(data);
    },
    onTrained: async (trainer: Trainer) => {
      const logprobs = await trainer.logprobs(sequences);
      answers = logprobs.map((values) => values.reduce((sum, value) => sum + (Number.isNaN(value) ? 0 : value), 0));
    },
    settings: configOf(recorded),
    rows,
  };
  await runGradientSteps(job, preferencePlan(job));
  return { steps, answers };
}

describe("learning from preferences", () => {
  it.each(cases)("is what TRL does, step by step: $name", async (recorded) => {
    const { steps, answers } = await train(recorded);
    expect(steps).toHaveLength(recorded.steps.length);
    for (const [index, logged] of recorded.steps.entries()) {
      for (const [name, value] of Object.entries(logged)) {
        const ours = steps[index]?.[metricNames[name] ?? name];
        expect([index, name, Math.abs((ours ?? NaN) - value) / Math.max(1, Math.abs(value))]).toEqual([
          index,
          name,
          expect.toSatisfy((difference: number) => difference < 2e-5),
        ]);
      }
    }
    const difference = Math.max(...answers.map((value, at) => Math.abs(value - recorded.answers[at]!)));
    expect(difference).toBeLessThan(1e-4);
  });
});
