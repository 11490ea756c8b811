import type { LoraCapabilities, TrainingEngine } from "@heddle/training";
import { expect, test } from "vitest";
import { requestedAdapter } from "./model-adapter.js";

const usual = { default: { rank: 8, alpha: 16, targets: ["q", "k", "v", "o"] }, maxRank: 64, selectableTargets: true };

function asked(targets: ("q_proj" | "v_proj" | "o_proj" | "up_proj" | "k_proj")[]) {
  const lora = { ...usual, targetGroups: [["q", "k", "v"], ["o"]] } as LoraCapabilities;
  const models = [{ name: "dir:fused", training: { lora } }];
  const training = { capabilities: async () => ({ models }) } as unknown as TrainingEngine;
  return requestedAdapter({ config: { loraRank: undefined }, training }, "dir:fused", { target_modules: targets });
}

test("projections that a model has as one matrix are adapted together or not at all", async () => {
  await expect(asked(["o_proj", "q_proj", "v_proj"])).rejects.toMatchObject({
    code: "unprocessable",
    loc: ["lora", "target_modules"],
    message: expect.stringContaining("lacks k_proj; dir:fused has q_proj, k_proj, v_proj as one matrix"),
  });
  await expect(asked(["o_proj"])).resolves.toMatchObject({ targets: ["o"] });
  await expect(asked(["v_proj", "q_proj", "k_proj"])).resolves.toMatchObject({ targets: ["q", "k", "v"] });
});

test("projections that a model adapts none of are refused by their name", async () => {
  await expect(asked(["o_proj", "up_proj"])).rejects.toMatchObject({
    loc: ["lora", "target_modules"],
    message: "has up_proj; adapters of dir:fused may have q_proj, k_proj, v_proj, o_proj",
  });
});
