import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fixtures, scratchDirectories } from "../../test/weight-files.js";
import { parameterSet, projectionShape } from "../model/parameters.js";
import type { CpuTrainerSettings } from "../trainer/trainer.js";
import { createCpuTrainer } from "../trainer/trainer.js";
import { readAdapter } from "./adapter.js";
import { loadModel } from "./model-directory.js";
import type { TensorSource } from "./safetensors.js";
import { writeSafetensors } from "./safetensors.js";

const scratch = scratchDirectories();
const { config: model, weights } = await loadModel(join(fixtures, "models", "qwen3-tied"));

test("an adapter with ranks, scales and layers of its own computes what its matrices say", async () => {
  const json = {
    peft_type: "LORA",
    r: 2,
    lora_alpha: 5,
    use_rslora: true,
    target_modules: ["q_proj", "model.layers.1.mlp.down_proj"],
    rank_pattern: { "layers.0.self_attn.q_proj": 3 },
    alpha_pattern: { down_proj: 7, "^model.layers.1.self_attn.q_proj": 4 },
  };
  const modules = [
    { layer: 0, target: "q", path: "self_attn.q_proj", rank: 3, scale: 5 / Math.sqrt(3) },
    { layer: 1, target: "q", path: "self_attn.q_proj", rank: 2, scale: 4 / Math.sqrt(2) },
    { layer: 1, target: "down", path: "mlp.down_proj", rank: 2, scale: 7 / Math.sqrt(2) },
  ] as const;
  const directory = await scratch();
  const merged = parameterSet(weights.parameters, weights.flat.slice());
  const sources: TensorSource[] = [];
  const columnsOf = { q: model.heads * model.headSize + 2 * model.keyValueHeads * model.headSize, down: 0 };
  for (const { layer, target, path, rank, scale } of modules) {
    const [inputs, outputs] = projectionShape(model, target);
    const a = Float32Array.from({ length: rank * inputs }, (_, i) => Math.sin(i + layer) / 3);
    const b = Float32Array.from({ length: outputs * rank }, (_, i) => Math.cos(i * i) / 3);
    const name = `base_model.model.model.layers.${layer}.${path}`;
    sources.push({ name: `${name}.lora_A.weight`, shape: [rank, inputs], values: () => a });
    sources.push({ name: `${name}.lora_B.weight`, shape: [outputs, rank], values: () => b });
    // W [inputs, columns] += scale (B A)^T, in double precision.
    const w = merged.views.get(`layers.${layer}.${target === "q" ? "qkv" : "down"}`)!;
    const columns = columnsOf[target] || outputs;
    for (let i = 0; i < inputs; i++) {
      for (let o = 0; o < outputs; o++) {
        let sum = 0;
        for (let r = 0; r < rank; r++) sum += b[o * rank + r]! * a[r * inputs + i]!;
        w[i * columns + o]! += scale * sum;
      }
    }
  }
  await writeFile(join(directory, "adapter_config.json"), JSON.stringify(json));
  await writeSafetensors(join(directory, "adapter_model.safetensors"), sources, "F32");
  const adapter = await readAdapter(directory, model);
  expect(adapter.config).toMatchObject({ rank: 3, targets: ["q", "down"] });
  const tokens = Int32Array.from({ length: 12 }, (_, i) => (i * 7) % 80);
  const sequences = [{ tokens, mask: new Uint8Array(12).fill(1, 1) }];
  const logprobs = async (changes: Pick<CpuTrainerSettings, "weights" | "adapter">) => {
    const trainer = await createCpuTrainer({ config: model, memoryBytes: 2 ** 30, threads: 1, ...changes });
    const [found] = await trainer.logprobs(sequences);
    await trainer.close();
    return found!.slice(1);
  };
  const [plain, expected] = [await logprobs({ weights }), await logprobs({ weights: merged })];
  const found = await logprobs({ weights, adapter });
  const distance = (one: Float64Array, other: Float64Array) =>
    Math.max(...one.map((value, at) => Math.abs(value - other[at]!)));
  expect(distance(found, expected)).toBeLessThan(1e-4);
  expect(distance(found, plain)).toBeGreaterThan(0.1);
});
