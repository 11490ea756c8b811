import type { LoraConfig } from "@heddle/training";
import { cp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { editJson, fixtures, sameBits, scratchDirectories } from "../../test/weight-files.js";
import type { ModelConfig } from "../model/config.js";
import { readAdapter, readAdapterConfig, writeAdapter } from "./adapter.js";
import { initialAdapter } from "./initial-weights.js";
import { readModelConfig } from "./model-directory.js";
import { openSafetensors, writeSafetensors } from "./safetensors.js";

const scratch = scratchDirectories();
const fixture = join(fixtures, "adapters", "qwen3-tied-lora");
const model = await readModelConfig(join(fixtures, "models", "qwen3-tied"));

async function copyOfFixture(): Promise<string> {
  const directory = join(await scratch(), "adapter");
  await cp(fixture, directory, { recursive: true });
  return directory;
}

test("an adapter written by PEFT is read, with each factor transposed", async () => {
  const { config, set } = await readAdapter(fixture, model);
  expect(config).toEqual({ rank: 3, alpha: 5, targets: ["q", "k", "v", "o", "gate", "up", "down"] });
  const file = await openSafetensors(join(fixture, "adapter_model.safetensors"));
  const stored = await file.read("base_model.model.model.layers.1.mlp.down_proj.lora_B.weight");
  await file.close();
  // Stored as [outputs 32, rank 3]; the parameter is [rank, outputs].
  const read = set.views.get("layers.1.down.b")!;
  expect(read[2 * 32 + 7]).toBe(stored[7 * 3 + 2]);
});

test.each([
  ["all projections", ["q", "k", "v", "o", "gate", "up", "down"]],
  ["some, named in any order", ["down", "v"]],
] as [string, LoraConfig["targets"]][])(
  "an adapter of %s is written and read to the last bit",
  async (_what, targets) => {
    const config = { rank: 5, alpha: 12.5, targets };
    const set = initialAdapter(model, config, 3);
    for (let at = 0; at < set.flat.length; at++) set.flat[at]! += Math.fround(Math.cos(at));
    const directory = await scratch();
    await writeAdapter(directory, { config, set }, { model, baseModel: "dir:base" });
    const again = await readAdapter(directory, model);
    expect(sameBits(again.set.flat, set.flat)).toBe(true);
    expect(again.config).toMatchObject({ rank: 5, alpha: 12.5 });
    expect(again.config.targets.toSorted()).toEqual(targets.toSorted());
    const written = JSON.parse(await readFile(join(directory, "adapter_config.json"), "utf8"));
    expect(written).toMatchObject({ peft_type: "LORA", base_model_name_or_path: "dir:base", r: 5, lora_alpha: 12.5 });
  },
);

test("an adapter on matrices that hold several projections is written as PEFT has it, and read to the last bit", async () => {
  const phi = await readModelConfig(join(fixtures, "models", "phi3"));
  const config: LoraConfig = { rank: 5, alpha: 0.7, targets: ["q", "k", "v", "o", "gate", "up", "down"] };
  const set = initialAdapter(phi, config, 3);
  for (let at = 0; at < set.flat.length; at++) set.flat[at]! += Math.fround(Math.cos(at));
  const directory = await scratch();
  await writeAdapter(directory, { config, set }, { model: phi, baseModel: "dir:base" });
  const again = await readAdapter(directory, phi);
  expect(again.config).toEqual(config);
  expect(await readAdapterConfig(directory, phi)).toEqual(config);
  expect(sameBits(again.set.flat, set.flat)).toBe(true);
  const written = JSON.parse(await readFile(join(directory, "adapter_config.json"), "utf8"));
  expect(written).toMatchObject({
    target_modules: ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"],
    rank_pattern: { qkv_proj: 15, gate_up_proj: 10 },
  });
});

test("an adapter for a part of such a matrix is refused with the part that is missing", async () => {
  const phi = await readModelConfig(join(fixtures, "models", "phi3"));
  expect(() => initialAdapter(phi, { rank: 2, alpha: 4, targets: ["q", "v", "o"] }, 1)).toThrow(
    expect.objectContaining({
      code: "unsupported",
      loc: ["adapter", "targets"],
      message: expect.stringContaining("lack k: this model has q, k, v as one matrix, self_attn.qkv_proj"),
    }),
  );
  expect(() => initialAdapter(phi, { rank: 2, alpha: 4, targets: ["o", "gate", "up"] }, 1)).not.toThrow();
});

const refused: [change: Record<string, unknown>, code: string, field: string][] = [
  [{ peft_type: "IA3" }, "unsupported", "peft_type"],
  [{ use_dora: true }, "unsupported", "use_dora"],
  [{ use_rslora: 1 }, "invalid", "use_rslora"],
  [{ rank_pattern: { "layers.[01].self_attn": 4 } }, "unsupported", "rank_pattern"],
  [{ rank_pattern: { q_proj: 0 } }, "invalid", "rank_pattern.q_proj"],
  [{ alpha_pattern: { "(a+)+$": 4 } }, "unsupported", "alpha_pattern"],
  [{ alpha_pattern: { q_proj: -1 } }, "invalid", "alpha_pattern.q_proj"],
  [{ modules_to_save: ["lm_head"] }, "unsupported", "modules_to_save"],
  [{ layers_to_transform: [0, 2] }, "invalid", "layers_to_transform"],
  [{ fan_in_fan_out: true }, "unsupported", "fan_in_fan_out"],
  [{ bias: "all" }, "unsupported", "bias"],
  [{ a_method_of_next_year: true }, "unsupported", "a_method_of_next_year"],
  [{ init_lora_weights: "pissa" }, "unsupported", "init_lora_weights"],
  [{ target_modules: {} }, "unsupported", "target_modules"],
  [{ target_modules: ["q_proj", "lm_head"] }, "unsupported", "target_modules"],
  [{ r: 0 }, "invalid", "r"],
  [{ r: 1e9 }, "invalid", "r"],
  [{ lora_alpha: "16" }, "invalid", "lora_alpha"],
  [{ lora_alpha: undefined }, "invalid", "lora_alpha"],
];

test.each(refused)("an adapter with %j is refused", async (change, code, field) => {
  const directory = await copyOfFixture();
  await editJson(join(directory, "adapter_config.json"), change);
  await expect(readAdapter(directory, model)).rejects.toMatchObject({
    code,
    details: { file: "adapter_config.json", field },
  });
});

/** Writes the fixture's tensors again under other names. */
async function renamed(nameOf: (name: string) => string): Promise<string> {
  const directory = await copyOfFixture();
  const file = await openSafetensors(join(fixture, "adapter_model.safetensors"));
  const sources = await Promise.all(
    [...file.tensors.values()].map(async ({ name, shape }) => {
      const values = await file.read(name);
      return { name: nameOf(name), shape, values: () => values };
    }),
  );
  await file.close();
  await rm(join(directory, "adapter_model.safetensors"));
  await writeSafetensors(join(directory, "adapter_model.safetensors"), sources, "F32");
  return directory;
}

describe("an adapter made elsewhere", () => {
  test("may name its tensors without the prefix of PEFT, or with the name of an adapter", async () => {
    const { set } = await readAdapter(fixture, model);
    for (const nameOf of [
      (name: string) => name.replace("base_model.model.", ""),
      (name: string) => name.replace("base_model.model.model.", ""),
      (name: string) => name.replace(".weight", ".default.weight"),
    ]) {
      const read = await readAdapter(await renamed(nameOf), model);
      expect(sameBits(read.set.flat, set.flat)).toBe(true);
    }
    const foreign = await renamed((name) => name.replace("layers.0.mlp.up_proj", "layers.0.mlp.experts.up_proj"));
    await expect(readAdapter(foreign, model)).rejects.toThrow(/experts.up_proj.* is not part of this adapter/);
    const twice = await renamed((name) => name.replace("model.layers.0.mlp.up_proj", "layers.0.mlp.gate_proj"));
    await expect(readAdapter(twice, model)).rejects.toThrow(/gate_proj.* is in the file under two names/);
  });

  test("may leave its modules to be read from its tensors", async () => {
    const { set, config } = await readAdapter(fixture, model);
    for (const targets of ["all-linear", ".*_proj"]) {
      const directory = await copyOfFixture();
      await editJson(join(directory, "adapter_config.json"), { target_modules: targets });
      const read = await readAdapter(directory, model);
      expect(sameBits(read.set.flat, set.flat)).toBe(true);
      expect(await readAdapterConfig(directory, model)).toEqual(config);
    }
  });
});

test("an adapter in bf16 takes half the space, with rounded numbers", async () => {
  const { config, set } = await readAdapter(fixture, model);
  const directory = await scratch();
  await writeAdapter(directory, { config, set }, { model, baseModel: "base", dtype: "BF16" });
  const again = await readAdapter(directory, model);
  again.set.flat.forEach((value, at) => {
    expect(Math.abs(value - set.flat[at]!)).toBeLessThanOrEqual(Math.abs(set.flat[at]!) / 256);
  });
  expect(sameBits(again.set.flat, set.flat)).toBe(false);
});

test("an adapter for another shape, with more or with fewer tensors, is refused with the tensor's name", async () => {
  const wider: ModelConfig = { ...model, hiddenSize: 48 };
  await expect(readAdapter(fixture, wider)).rejects.toThrow(/q_proj.lora_A.weight" has the shape \[3,32\]/);
  await expect(readAdapter(fixture, { ...model, layers: 3 })).rejects.toThrow(/layers.2.*is missing/);
  await expect(readAdapter(fixture, { ...model, layers: 1 })).rejects.toThrow(/layers.1.* is not part of this adapter/);
});

test.each([
  [{ target_parameters: ["mlp.experts.gate_up_proj"] }, /target_parameters is \["mlp.experts.gate_up_proj"\]/],
  [
    { target_modules: ["q_proj", "gate_up_proj"] },
    /target_modules has "gate_up_proj"; the engine adapts q_proj, k_proj/,
  ],
])("an adapter of the experts of a mixture is refused by name: %j", async (change, message) => {
  const directory = join(await scratch(), "experts");
  await cp(join(fixtures, "adapters", "gpt-oss-lora"), directory, { recursive: true });
  await editJson(join(directory, "adapter_config.json"), change);
  const config = await readModelConfig(join(fixtures, "models", "gpt-oss"));
  await expect(readAdapter(directory, config)).rejects.toThrow(message);
});

test("an adapter with numbers that are not finite is refused", async () => {
  const directory = await copyOfFixture();
  const path = join(directory, "adapter_model.safetensors");
  const file = await openSafetensors(path);
  const sources = await Promise.all(
    [...file.tensors.values()].map(async ({ name, shape }) => {
      const values = await file.read(name);
      if (name.includes("layers.0.self_attn.q_proj.lora_B")) values[0] = Number.NEGATIVE_INFINITY;
      return { name, shape, values: () => values };
    }),
  );
  await file.close();
  await rm(path);
  await writeSafetensors(path, sources, "F32");
  await expect(readAdapter(directory, model)).rejects.toThrow(/q_proj.lora_B.weight" has numbers that are not finite/);
});
