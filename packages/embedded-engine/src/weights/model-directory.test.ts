import { cp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { randomWeights, smallModels } from "../../test/small-models.js";
import { editJson, fixtures, rawSafetensors, sameBits, scratchDirectories } from "../../test/weight-files.js";
import { presets } from "../model/presets.js";
import { initialWeights } from "./initial-weights.js";
import { loadModel, readModelConfig, writeModel } from "./model-directory.js";
import { openSafetensors, writeSafetensors } from "./safetensors.js";

const scratch = scratchDirectories();
const models = join(fixtures, "models");

async function copyOf(name: string): Promise<string> {
  const directory = join(await scratch(), name);
  await cp(join(models, name), directory, { recursive: true });
  return directory;
}

/** Rewrites a model's file with changes. */
async function rewrite(
  directory: string,
  change: (tensors: Map<string, { shape: number[]; values: Float32Array }>) => void,
) {
  const path = join(directory, "model.safetensors");
  const file = await openSafetensors(path);
  const tensors = new Map<string, { shape: number[]; values: Float32Array }>();
  for (const { name, shape } of file.tensors.values()) tensors.set(name, { shape, values: await file.read(name) });
  await file.close();
  change(tensors);
  await rm(path);
  const sources = [...tensors].map(([name, { shape, values }]) => ({ name, shape, values: () => values }));
  await writeSafetensors(path, sources, "F32");
}

test.each(await readdir(models))("%s is bitwise equal after writing and loading", async (name) => {
  const model = await loadModel(join(models, name));
  const directory = join(await scratch(), "copy");
  await writeModel(directory, model, { dtype: "F32", base: join(models, name) });
  const again = await loadModel(directory);
  expect(again.config).toEqual(model.config);
  expect(sameBits(again.weights.flat, model.weights.flat)).toBe(true);
  const config = JSON.parse(await readFile(join(directory, "config.json"), "utf8"));
  expect(config).toMatchObject({ torch_dtype: "float32", eos_token_id: 1 });
});

test("bfloat16 weights are written as bfloat16 without loss", async () => {
  const model = await loadModel(join(models, "qwen3-sharded-bf16"));
  const directory = await scratch();
  await writeModel(directory, model, { dtype: "BF16" });
  expect(sameBits((await loadModel(directory)).weights.flat, model.weights.flat)).toBe(true);
});

test("only tokenizer, template and generation settings of the base are copied", async () => {
  const base = await scratch();
  for (const name of [
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "generation_config.json",
    "notes",
  ]) {
    await writeFile(join(base, name), `{"file": "${name}"}`);
  }
  const config = presets.get("tiny")!;
  const directory = join(await scratch(), "deeper", "still");
  const files = await writeModel(directory, { config, weights: initialWeights(config, 1) }, { dtype: "F32", base });
  const written = await readdir(directory);
  expect(written.toSorted()).toEqual([...files.keys()].toSorted());
  expect(written).not.toContain("notes");
  expect(await readFile(join(directory, "chat_template.jinja"), "utf8")).toBe('{"file": "chat_template.jinja"}');
});

test("missing, unexpected and misshapen tensors are named", async () => {
  const key = "model.layers.1.mlp.up_proj.weight";
  const directory = await copyOf("llama-tied");
  await rewrite(directory, (tensors) => tensors.delete(key));
  await expect(loadModel(directory)).rejects.toMatchObject({
    code: "invalid",
    message: `model.safetensors: tensor "${key}" is missing`,
    details: { file: "model.safetensors", tensor: key },
  });

  const more = await copyOf("llama-tied");
  await rewrite(more, (tensors) => tensors.set("extra", { shape: [1], values: new Float32Array(1) }));
  await expect(loadModel(more)).rejects.toThrow(/tensor "extra" is not part of this model/);

  const turned = await copyOf("llama-tied");
  await rewrite(turned, (tensors) => (tensors.get(key)!.shape = [32, 40]));
  await expect(loadModel(turned)).rejects.toThrow(/has the shape \[32,40\]; the configuration requires \[40,32\]/);
});

/** Rewrites the header of a model's file, and leaves the numbers. */
async function rewriteHeader(directory: string, change: (header: Record<string, { dtype: string }>) => void) {
  const path = join(directory, "model.safetensors");
  const bytes = await readFile(path);
  const end = 8 + Number(bytes.readBigUInt64LE(0));
  const header: Record<string, { dtype: string }> = JSON.parse(bytes.toString("utf8", 8, end));
  change(header);
  await writeFile(path, rawSafetensors(header, bytes.subarray(end)));
}

test.each([
  [
    "qwen3-moe",
    { num_local_experts: 6 },
    /"model.layers.0.mlp.gate.weight" has the shape \[5,32\]; .* requires \[6,32\]/,
  ],
  ["qwen3-moe", { num_local_experts: 4 }, /"model.layers.0.mlp.gate.weight" has the shape \[5,32\]/],
  ["qwen3-moe", { moe_intermediate_size: 25 }, /"model.layers.0.mlp.experts.0.gate_proj.weight" has the shape/],
  ["qwen3-next", { shared_expert_intermediate_size: 24 }, /"model.layers.0.mlp.shared_expert.gate_proj.weight" has/],
  ["qwen3-next", { linear_num_key_heads: 4 }, /"model.layers.0.linear_attn.in_proj_qkvz.weight" has the shape/],
  [
    "qwen3-next",
    { layer_types: Array(3).fill("full_attention") },
    /"model.layers.0.self_attn.q_proj.weight" is missing/,
  ],
  [
    "qwen3-5",
    { architectures: ["Qwen3NextForCausalLM"], num_experts: 5, num_experts_per_tok: 2, moe_intermediate_size: 40 },
    /in_proj_qkvz.weight" is missing/,
  ],
  ["gpt-oss", { num_local_experts: 4 }, /"model.layers.0.mlp.router.weight" has the shape \[5,32\]/],
  ["gpt-oss", { intermediate_size: 48 }, /"model.layers.0.mlp.experts.gate_up_proj" has the shape \[5,32,80\]/],
  ["gpt-oss-mxfp4", { intermediate_size: 64 }, /"model.layers.0.mlp.experts.gate_up_proj_blocks" has the shape/],
  ["gpt-oss-mxfp4", { intermediate_size: 40 }, /"model.layers.0.mlp.experts.gate_up_proj_blocks" has the shape/],
])("%s whose configuration says %o is refused with the tensor that contradicts it", async (name, change, message) => {
  const directory = await copyOf(name);
  await editJson(join(directory, "config.json"), change);
  await expect(loadModel(directory)).rejects.toThrow(message);
});

test.each([
  ["qwen3-5", "Qwen3_5ForConditionalGeneration"],
  ["qwen3-5-moe", "Qwen3_5MoeForConditionalGeneration"],
])("the part for texts of a model that reads images is the model for texts: %s", async (name, architecture) => {
  const expected = await loadModel(join(models, name));
  const directory = await copyOf(name);
  await rewrite(directory, (tensors) => {
    const text = Array.from(tensors).filter(([key]) => key.startsWith("model."));
    for (const [key, tensor] of text) {
      tensors.delete(key);
      tensors.set(key.replace("model.", "model.language_model."), tensor);
    }
    const other = { shape: [1], values: new Float32Array(1) };
    tensors.set("model.visual.blocks.0.norm1.weight", other).set("mtp.norm.weight", other);
  });
  const text = JSON.parse(await readFile(join(directory, "config.json"), "utf8"));
  const whole = { architectures: [architecture], model_type: "qwen", vision_config: {} };
  await writeFile(join(directory, "config.json"), JSON.stringify({ ...whole, text_config: text }));
  const read = await loadModel(directory);
  expect(read.config).toEqual(expected.config);
  expect(sameBits(read.weights.flat, expected.weights.flat)).toBe(true);
});

/** Puts the experts of a model with five of width 24 into two tensors for each layer, as published files have them. */
async function stackExperts(directory: string): Promise<void> {
  await rewrite(directory, (tensors) => {
    for (let layer = 0; layer < 3; layer++) {
      const experts = `model.layers.${layer}.mlp.experts.`;
      const stack = (kinds: string[]) =>
        Array.from({ length: 5 }, (_, expert) => kinds.map((kind) => `${experts}${expert}.${kind}_proj.weight`)).flat();
      const stacked = (keys: string[]) => Float32Array.from(keys.flatMap((key) => [...tensors.get(key)!.values]));
      const [gateUp, down] = [stack(["gate", "up"]), stack(["down"])];
      tensors.set(`${experts}gate_up_proj`, { shape: [5, 48, 32], values: stacked(gateUp) });
      tensors.set(`${experts}down_proj`, { shape: [5, 32, 24], values: stacked(down) });
      for (const key of [...gateUp, ...down]) tensors.delete(key);
    }
  });
}

test("experts in one tensor for each layer are those of separate ones", async () => {
  const expected = await loadModel(join(models, "qwen3-5-moe"));
  const directory = await copyOf("qwen3-5-moe");
  await stackExperts(directory);
  const read = await loadModel(directory);
  expect(read.config).toEqual(expected.config);
  expect(sameBits(read.weights.flat, expected.weights.flat)).toBe(true);
  const key = "model.layers.1.mlp.experts.gate_up_proj";
  const separate = "model.layers.1.mlp.experts.0.up_proj.weight";
  const error = async (change: Record<string, unknown>) => {
    const changed = await copyOf("qwen3-5-moe");
    await stackExperts(changed);
    await editJson(join(changed, "config.json"), change);
    return await loadModel(changed).catch(({ message }: Error) => message);
  };
  expect(await error({ moe_intermediate_size: 25 })).toMatch(
    /"model.layers.0.mlp.experts.gate_up_proj" has the shape \[5,48,32\]; .* requires \[5,50,32\]/,
  );
  await rewrite(directory, (tensors) => {
    const { values, shape } = tensors.get(key)!;
    tensors.set(key, { shape: [4, 48, 32], values: values.slice(0, 4 * 48 * 32) });
    expect(shape).toEqual([5, 48, 32]);
  });
  await expect(loadModel(directory)).rejects.toThrow(
    `"${key}" has the shape [4,48,32]; the configuration requires [5,`,
  );
  await rewrite(directory, (tensors) => {
    const { values } = tensors.get(key)!;
    tensors.set(key, { shape: [6, 48, 32], values: new Float32Array(6 * 48 * 32).fill(values[0]!) });
  });
  await expect(loadModel(directory)).rejects.toThrow(`"${key}" is not part of this model`);
  await rewrite(directory, (tensors) => {
    tensors.set(key, { shape: [5, 48, 32], values: new Float32Array(5 * 48 * 32) });
    tensors.set(separate, { shape: [24, 32], values: new Float32Array(24 * 32) });
  });
  await expect(loadModel(directory)).rejects.toThrow("is in the file a second time");
  await rewrite(directory, (tensors) => {
    tensors.delete(separate);
    tensors.delete("model.layers.2.mlp.experts.down_proj");
  });
  await expect(loadModel(directory)).rejects.toThrow('"model.layers.2.mlp.experts.0.down_proj.weight" is missing');
});

test("what predicts several tokens at once is left out", async () => {
  const expected = await loadModel(join(models, "qwen3-next"));
  const directory = await copyOf("qwen3-next");
  const other = { shape: [1], values: new Float32Array(1) };
  await rewrite(directory, (tensors) => tensors.set("mtp.layers.0.input_layernorm.weight", other));
  const read = await loadModel(directory);
  expect(sameBits(read.weights.flat, expected.weights.flat)).toBe(true);
});

test.each([
  ["qwen3-moe", "model.layers.1.mlp.experts.3.down_proj.weight"],
  ["qwen3-next", "model.layers.1.mlp.experts.3.down_proj.weight"],
  ["qwen3-next", "model.layers.0.mlp.shared_expert.up_proj.weight"],
  ["qwen3-next", "model.layers.2.mlp.shared_expert_gate.weight"],
  ["qwen3-5-moe", "model.layers.0.mlp.experts.4.gate_proj.weight"],
])("of %s, an expert that is missing is named: %s", async (name, key) => {
  const directory = await copyOf(name);
  await rewrite(directory, (tensors) => tensors.delete(key));
  await expect(loadModel(directory)).rejects.toThrow(`tensor "${key}" is missing`);
});

test("experts in MXFP4 need their scales, in bytes, and are there once", async () => {
  const experts = "model.layers.0.mlp.experts.down_proj";
  const broken = async (change: (header: Record<string, { dtype: string }>) => void) => {
    const directory = await copyOf("gpt-oss-mxfp4");
    await rewriteHeader(directory, change);
    return await loadModel(directory).then(
      () => "loaded",
      (error: Error) => error.message,
    );
  };
  const rename = (from: string, to: string) => (header: Record<string, { dtype: string }>) => {
    header[to] = header[from]!;
    delete header[from];
  };
  expect(await broken(() => undefined)).toBe("loaded");
  expect(await broken(rename(`${experts}_scales`, "other"))).toContain(`"${experts}_scales" is missing`);
  expect(await broken(rename(`${experts}_blocks`, "other"))).toContain(`"${experts}" is missing`);
  const signed = (header: Record<string, { dtype: string }>) => (header[`${experts}_scales`]!.dtype = "I8");
  expect(await broken(signed)).toContain(`"${experts}_scales" is I8; MXFP4 has U8`);
});

test("weights that are not finite are refused with the tensor's name", async () => {
  for (const key of ["model.embed_tokens.weight", "model.layers.0.self_attn.v_proj.weight"]) {
    const directory = await copyOf("llama-tied");
    await rewrite(directory, (tensors) => (tensors.get(key)!.values[5] = Number.NaN));
    await expect(loadModel(directory)).rejects.toThrow(`tensor "${key}" has numbers that are not finite`);
  }
});

test("a tied head stored twice is accepted if both are equal, and old rotary frequencies are ignored", async () => {
  const directory = await copyOf("llama-tied");
  const reference = await loadModel(directory);
  await rewrite(directory, (tensors) => {
    tensors.set("lm_head.weight", structuredClone(tensors.get("model.embed_tokens.weight")!));
    tensors.set("model.layers.0.self_attn.rotary_emb.inv_freq", { shape: [4], values: new Float32Array(4) });
  });
  expect(sameBits((await loadModel(directory)).weights.flat, reference.weights.flat)).toBe(true);
  await rewrite(directory, (tensors) => tensors.get("lm_head.weight")!.values[0]!++);
  await expect(loadModel(directory)).rejects.toThrow(
    /"lm_head.weight" .* tie_word_embeddings is true, but the two differ/,
  );
});

test("a configuration far larger than the file is refused before memory is allocated", async () => {
  const directory = await copyOf("llama-tied");
  await editJson(join(directory, "config.json"), { vocab_size: 4_000_000, hidden_size: 131072, head_dim: 8 });
  await expect(loadModel(directory)).rejects.toThrow(/embed_tokens.weight" has the shape \[80,32\]/);
});

test("an index with paths outside the directory or with other shards is refused", async () => {
  const index = "model.safetensors.index.json";
  const name = "model.embed_tokens.weight";
  const broken: [weightMap: unknown, message: RegExp][] = [
    [undefined, /weight_map is missing/],
    [{ [name]: "../secret.safetensors" }, /is listed in "\.\.\/secret\.safetensors", which is not a file name/],
    [{ [name]: "/etc/passwd" }, /not a file name of this directory/],
    [{ [name]: "..\\up.safetensors" }, /not a file name/],
    [{ [name]: 3 }, /is listed in 3/],
    [{ [name]: "model-00009-of-00009.safetensors" }, /there is no model-00009-of-00009.safetensors/],
    [
      { "model.norm.bias": "model-00001-of-00004.safetensors" },
      /"model.norm.bias" is missing, but .*index.json lists it/,
    ],
    [{ [name]: "model-00001-of-00004.safetensors" }, /is not listed in|is missing/],
  ];
  for (const [weightMap, message] of broken) {
    const directory = await copyOf("qwen3-sharded-bf16");
    await editJson(join(directory, index), { weight_map: weightMap });
    await expect(loadModel(directory), JSON.stringify(weightMap)).rejects.toThrow(message);
  }
});

test("a directory without a model says what is missing", async () => {
  const directory = await scratch();
  await expect(readModelConfig(directory)).rejects.toMatchObject({
    code: "not_found",
    message: "there is no config.json",
  });
  const bare = await copyOf("llama-tied");
  await rename(join(bare, "model.safetensors"), join(bare, "other.safetensors"));
  await expect(loadModel(bare)).rejects.toMatchObject({
    code: "not_found",
    message: "there is neither model.safetensors nor model.safetensors.index.json",
  });
  await writeFile(join(bare, "model.safetensors"), rawSafetensors({}, new Uint8Array(0)));
  await expect(loadModel(bare)).rejects.toThrow(/"model.embed_tokens.weight" is missing/);
  await writeFile(join(bare, "config.json"), "x".repeat(2 ** 20 + 1));
  await expect(loadModel(bare)).rejects.toThrow(/config.json is not a file of at most 1048576 bytes/);
});

test("a file that cannot be read is not reported as missing", async () => {
  const directory = await copyOf("llama-tied");
  await rm(join(directory, "model.safetensors"));
  await symlink("model.safetensors", join(directory, "model.safetensors"));
  await expect(loadModel(directory)).rejects.toThrow(/^ELOOP/);
});

test.each(Object.entries(smallModels))(
  "the weights of %s are written and read to the last bit",
  async (_name, config) => {
    const weights = randomWeights(config, 1);
    const directory = await scratch();
    await writeModel(directory, { config, weights }, { dtype: "F32" });
    const read = await loadModel(directory);
    expect(read.config).toEqual(config);
    expect(sameBits(read.weights.flat, weights.flat)).toBe(true);
  },
);
