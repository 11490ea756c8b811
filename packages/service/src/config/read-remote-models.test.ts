import { expect, test } from "vitest";
import { readRemoteModels } from "./read-remote-models.js";

const read = (models: unknown) => readRemoteModels(JSON.stringify(models), "/etc/heddle");

test("a model has the names of its servers, or its own, and the usual adapter", () => {
  const models = {
    "Qwen/Qwen3-14B": {
      directory: "models/Qwen3-14B",
      trainer: { gradientScale: "sum", gradientClipping: true, rank: 16, targets: ["v", "q"], maxOpenTrainers: 2 },
      inference: { model: "qwen3", contextLength: 32_768 },
    },
    "chat-only": { directory: "/models/chat", inference: {} },
  };
  expect(read(models)).toEqual([
    {
      name: "Qwen/Qwen3-14B",
      directory: "/etc/heddle/models/Qwen3-14B",
      trainer: {
        model: "Qwen/Qwen3-14B",
        gradientScale: "sum",
        gradientClipping: true,
        lora: { rank: 16, alpha: 32, targets: ["q", "v"] },
        maxRank: 16,
        maxOpenTrainers: 2,
      },
      inference: { model: "qwen3", contextLength: 32_768 },
    },
    { name: "chat-only", directory: "/models/chat", inference: { model: "chat-only" } },
  ]);
});

const trainer = { gradientScale: "sum" };

test.for([
  [[], "must be a JSON object of models by name"],
  [{ "a b": {} }, '"a b" must be letters'],
  [{ a: { inference: {} } }, "a.directory must be the path"],
  [{ a: { directory: "/m" } }, "a must have trainer, inference or both"],
  [{ a: { directory: "/m", trainer: {} } }, "a.trainer.gradientScale must be one of sum, sequence_mean"],
  [{ a: { directory: "/m", trainer: { ...trainer, scale: 1 } } }, "a.trainer.scale is not known. Known: model,"],
  [
    { a: { directory: "/m", trainer: { ...trainer, rank: 0 } } },
    "a.trainer.rank must be a whole number from 1 to 1024",
  ],
  [{ a: { directory: "/m", trainer: { ...trainer, rank: 16, maxRank: 8 } } }, "a.trainer.maxRank must be at least"],
  [
    { a: { directory: "/m", trainer: { ...trainer, targets: ["q", "lm_head"] } } },
    "a.trainer.targets must be a list of",
  ],
  [{ a: { directory: "/m", inference: { model: "" } } }, "a.inference.model must be a name"],
] as const)("an error names the member: %j", ([models, message]) => {
  expect(() => read(models)).toThrow(message);
});
