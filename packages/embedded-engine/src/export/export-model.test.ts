import { mkdir, readFile, writeFile, cp } from "node:fs/promises";
import { join } from "node:path";
import type { LoraConfig } from "@heddle/training";
import { loraTargets } from "@heddle/training";
import { describe, expect, test } from "vitest";
import type { ModelConfig } from "../model/config.js";
import { editJson, fixtures, scratchDirectories } from "../../test/weight-files.js";
import { writeAdapter } from "../weights/adapter.js";
import { initialAdapter, initialWeights } from "../weights/initial-weights.js";
import { loadModel, readModelConfig, writeModel } from "../weights/model-directory.js";
import type { ModelExport } from "./export-model.js";
import { exportModel } from "./export-model.js";

const scratch = scratchDirectories();
const tokenizerDirectory = new URL("../../models/starter/", import.meta.url);
const qwenPattern =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/**
 * A model of the fixtures with a tokenizer, and an adapter of it whose factors are not zero. With `shape` it is one with random
 * weights, otherwise of the same shape.
 */
async function model(name: string, adapter: Partial<LoraConfig> = {}, shape?: Partial<ModelConfig>) {
  const directory = await scratch();
  const base = join(directory, "base");
  const fixture = join(fixtures, "models", name);
  if (shape) {
    const config = { ...(await readModelConfig(fixture)), ...shape };
    await writeModel(base, { config, weights: initialWeights(config, 1) }, { dtype: "F32" });
  } else await cp(fixture, base, { recursive: true });
  const tokenizer = JSON.parse(await readFile(new URL("tokenizer.json", tokenizerDirectory), "utf8")) as {
    pre_tokenizer: { pretokenizers: { pattern: { Regex: string } }[] };
  };
  tokenizer.pre_tokenizer.pretokenizers[0]!.pattern.Regex = qwenPattern;
  await writeFile(join(base, "tokenizer.json"), JSON.stringify(tokenizer));
  const config = await readModelConfig(base);
  const lora = { rank: 3, alpha: 12, targets: [...loraTargets], ...adapter };
  const set = initialAdapter(config, lora, 1);
  for (const [at, view] of [...set.views.values()].entries())
    for (let index = 0; index < view.length; index++) view[index] = Math.sin(at * 7 + index) / 10;
  const checkpoint = join(directory, "adapter");
  await writeAdapter(checkpoint, { config: lora, set }, { model: config, baseModel: "a/model" });
  const settings = { directories: { model: base } };
  const weights = { baseModel: "dir:model", checkpoint };
  return {
    base,
    config,
    lora,
    set,
    directory,
    async export(wanted: ModelExport, ref: { baseModel: string; checkpoint?: string } = weights): Promise<Buffer> {
      const parts: Uint8Array[] = [];
      let bytes = -1;
      for await (const part of exportModel(settings, ref, wanted)) {
        if (part instanceof Uint8Array) parts.push(takenAway(part));
        else bytes = part.bytes;
      }
      const whole = Buffer.concat(parts);
      expect(whole.length).toBe(bytes);
      return whole;
    },
  };
}

/** As the thread of an export sends a part: its memory is gone for whoever has made it. */
function takenAway(part: Uint8Array): Uint8Array {
  const { buffer, byteLength } = part;
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength !== byteLength) return part;
  return structuredClone(part, { transfer: [buffer] });
}

/** Files of a tar archive. */
function untar(archive: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let at = 0; archive[at] !== 0;) {
    const name = archive.toString("latin1", at, at + 100).replace(/\0.*$/su, "");
    const size = Number.parseInt(archive.toString("latin1", at + 124, at + 135), 8);
    files.set(name, archive.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

describe("a merged Hugging Face directory", () => {
  test.each(["llama-tied", "llama-untied-bf16", "qwen2-sharded-f16", "qwen3-tied", "phi3", "gemma3"])(
    "of %s has the weights of the base model with the adapter added",
    async (name) => {
      const trained = await model(name);
      const files = untar(await trained.export({ layout: "huggingface", format: "F32" }));
      const directory = join(trained.directory, "merged");
      await mkdir(directory);
      for (const [file, content] of files) await writeFile(join(directory, file), content);
      expect([...files.keys()]).toEqual(expect.arrayContaining(["config.json", "tokenizer.json", "model.safetensors"]));
      const merged = await loadModel(directory);
      const base = await loadModel(trained.base);
      expect(merged.config).toEqual(base.config);
      const { rank, alpha } = trained.lora;
      // The output projection is alone in its parameter, [inputs, outputs].
      const a = trained.set.views.get("layers.1.o.a")!;
      const b = trained.set.views.get("layers.1.o.b")!;
      const outputs = b.length / rank;
      const before = base.weights.views.get("layers.1.attention_output")!;
      const after = merged.weights.views.get("layers.1.attention_output")!;
      for (const [input, output] of [
        [0, 0],
        [5, 2],
        [a.length / rank - 1, outputs - 1],
      ] as const) {
        let product = 0;
        for (let r = 0; r < rank; r++) product += a[input * rank + r]! * b[r * outputs + output]!;
        const at = input * outputs + output;
        expect(after[at]).toBeCloseTo(before[at]! + (alpha / rank) * product, 6);
      }
      expect(merged.weights.views.get("final_norm")).toEqual(base.weights.views.get("final_norm"));
    },
  );

  test("in bfloat16 takes half the space, and an adapter of some projections leaves the others", async () => {
    const trained = await model("qwen3-tied", { targets: ["q"] });
    const whole = await trained.export({ layout: "huggingface", format: "F32" });
    const half = await trained.export({ layout: "huggingface", format: "BF16" });
    const sizeOf = (archive: Buffer) => untar(archive).get("model.safetensors")?.length ?? 0;
    expect(sizeOf(half)).toBeLessThan(0.6 * sizeOf(whole));
    const plain = await trained.export({ layout: "huggingface", format: "F32" }, { baseModel: "dir:model" });
    const numbersOf = (archive: Buffer) => untar(archive).get("model.safetensors");
    expect(numbersOf(plain)?.length).toBe(numbersOf(whole)?.length);
    expect(numbersOf(plain)).not.toEqual(numbersOf(whole));
  });

  test("is made of random and of bundled models, too", async () => {
    const trained = await model("qwen3-tied");
    for (const baseModel of ["random:tiny", "heddle/starter"]) {
      const files = untar(await trained.export({ layout: "huggingface", format: "BF16" }, { baseModel }));
      expect(JSON.parse(files.get("config.json")?.toString() ?? "")).toMatchObject({ torch_dtype: "bfloat16" });
    }
  });
});

/** The header of a GGUF file: metadata and the names, shapes and offsets of its tensors. */
function readGguf(file: Buffer) {
  let at = 24;
  const u32 = () => file.readUInt32LE((at += 4) - 4);
  const u64 = () => Number(file.readBigUInt64LE((at += 8) - 8));
  const text = () => {
    const length = u64();
    return file.toString("utf8", at, (at += length));
  };
  const value = (type: number): unknown => {
    if (type === 8) return text();
    if (type === 7) return file[at++] === 1;
    if (type === 6) return file.readFloatLE((at += 4) - 4);
    if (type === 5) return file.readInt32LE((at += 4) - 4);
    if (type !== 9) return u32();
    const of = u32();
    return Array.from({ length: u64() }, () => value(of));
  };
  const counts = [8, 16].map((position) => Number(file.readBigUInt64LE(position)));
  const metadata = new Map<string, unknown>();
  for (let index = 0; index < (counts[1] ?? 0); index++) metadata.set(text(), value(u32()));
  const tensors = Array.from({ length: counts[0] ?? 0 }, () => {
    const name = text();
    const shape = Array.from({ length: u32() }, u64);
    return { name, shape, type: u32(), offset: u64() };
  });
  const start = Math.ceil(at / 32) * 32;
  return {
    metadata,
    tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])),
    numbers: (name: string): Float32Array => {
      const { offset, shape } = tensors.find((tensor) => tensor.name === name)!;
      const length = shape.reduce((product, each) => product * each, 1);
      return new Float32Array(new Uint8Array(file.subarray(start + offset, start + offset + 4 * length)).buffer);
    },
  };
}

describe("a GGUF file", () => {
  test("has the shape, the tokenizer and the merged weights of a model", async () => {
    const trained = await model("qwen3-tied");
    const file = await trained.export({ layout: "gguf", format: "F32" });
    expect(file.toString("latin1", 0, 4)).toBe("GGUF");
    const { metadata, tensors, numbers } = readGguf(file);
    const { config } = trained;
    expect(Object.fromEntries(metadata)).toMatchObject({
      "general.architecture": "qwen3",
      "qwen3.block_count": config.layers,
      "qwen3.attention.head_count_kv": config.keyValueHeads,
      "qwen3.attention.key_length": config.headSize,
      "tokenizer.ggml.model": "gpt2",
      "tokenizer.ggml.pre": "qwen2",
    });
    expect(metadata.get("tokenizer.ggml.tokens")).toHaveLength(config.vocabularySize);
    expect(tensors.get("blk.1.attn_q.weight")?.shape).toEqual([config.hiddenSize, config.heads * config.headSize]);
    const files = untar(await trained.export({ layout: "huggingface", format: "F32" }));
    const directory = join(trained.directory, "merged");
    await mkdir(directory);
    for (const [name, content] of files) await writeFile(join(directory, name), content);
    const { weights } = await loadModel(directory);
    expect(numbers("token_embd.weight")).toEqual(new Float32Array(weights.views.get("embedding")!));
    expect(numbers("output_norm.weight")).toEqual(new Float32Array(weights.views.get("final_norm")!));
    const down = weights.views.get("layers.0.down")!;
    const written = numbers("blk.0.ffn_down.weight");
    // The file has [outputs, inputs], the parameter the transpose.
    expect(written[1]).toBe(down[config.hiddenSize]);
    const half = readGguf(await trained.export({ layout: "gguf", format: "BF16" }));
    expect(half.tensors.get("blk.0.ffn_down.weight")?.type).toBe(30);
    expect(half.tensors.get("blk.0.attn_norm.weight")?.type).toBe(0);
  });

  test("of the Llama family has queries and keys with the pairs of their rotation side by side", async () => {
    const trained = await model("llama-rotary-llama3");
    const { metadata, numbers, tensors } = readGguf(
      await trained.export({ layout: "gguf", format: "F32" }, { baseModel: "dir:model" }),
    );
    expect(metadata.get("general.architecture")).toBe("llama");
    const { weights } = await loadModel(trained.base);
    const { heads, keyValueHeads, headSize, hiddenSize } = trained.config;
    const columns = (heads + 2 * keyValueHeads) * headSize;
    const qkv = weights.views.get("layers.0.qkv")!;
    const queries = numbers("blk.0.attn_q.weight");
    // Row 1 of a head is the first of its second half.
    expect(queries[hiddenSize + 3]).toBe(qkv[3 * columns + headSize / 2]);
    expect(queries[headSize * hiddenSize]).toBe(qkv[headSize]);
    expect(numbers("blk.0.attn_v.weight")[hiddenSize]).toBe(qkv[(heads + keyValueHeads) * headSize + 1]);
    expect(tensors.get("rope_freqs.weight")?.shape).toEqual([headSize / 2]);
    expect(numbers("rope_freqs.weight")[0]).toBe(1);
    expect(numbers("rope_freqs.weight").at(-1)).toBe(8);
  });

  test("of experts has those of a layer in one tensor each, with the adapter in its attention", async () => {
    const trained = await model("qwen3-moe", { targets: ["q", "k", "v", "o"] });
    const { metadata, numbers, tensors } = readGguf(await trained.export({ layout: "gguf", format: "F32" }));
    const { config } = trained;
    const { hiddenSize, feedForwardSize, layers } = config;
    expect(Object.fromEntries(metadata)).toMatchObject({
      "general.architecture": "qwen3moe",
      "qwen3moe.expert_count": 5,
      "qwen3moe.expert_used_count": 2,
      "qwen3moe.expert_feed_forward_length": feedForwardSize,
    });
    expect(tensors.get("blk.1.ffn_gate_exps.weight")?.shape).toEqual([hiddenSize, feedForwardSize, 5]);
    expect(tensors.get("blk.1.ffn_down_exps.weight")?.shape).toEqual([feedForwardSize, hiddenSize, 5]);
    expect(tensors.get("blk.0.ffn_gate_inp.weight")?.shape).toEqual([hiddenSize, 5]);
    const whole = layers * (3 + 1 + 2) + layers * (4 + 2) + 3;
    expect(tensors.size).toBe(whole - (config.tiedEmbeddings ? 1 : 0));
    const { weights } = await loadModel(trained.base);
    // Of the last expert, the second row of the matrix for ups is the second column of its part of the parameter.
    const gateUp = weights.views.get("layers.0.gate_up")!;
    const expert = 4 * 2 * hiddenSize * feedForwardSize;
    const ups = numbers("blk.0.ffn_up_exps.weight");
    expect(ups[4 * hiddenSize * feedForwardSize + hiddenSize]).toBe(gateUp[expert + feedForwardSize + 1]);
    const half = readGguf(await trained.export({ layout: "gguf", format: "BF16" }));
    expect(half.tensors.get("blk.0.ffn_up_exps.weight")?.type).toBe(30);
    expect(half.tensors.get("blk.0.ffn_gate_inp.weight")?.type).toBe(0);
  });

  test("has the factors of Granite, and the layers without positions that llama.cpp knows of SmolLM3", async () => {
    const gguf = { layout: "gguf", format: "F32" } as const;
    const granite = await model("granite", {}, { attentionBias: false, outputBias: undefined });
    const { metadata } = readGguf(await granite.export(gguf));
    for (const [name, value] of Object.entries({
      embedding_scale: 3,
      "attention.scale": 0.2,
      residual_scale: 0.4,
      logit_scale: 2.5,
    })) {
      expect(metadata.get(`granite.${name}`)).toBeCloseTo(value, 6);
    }
    await expect((await model("granite")).export(gguf)).rejects.toThrow("a model with outputBias cannot be written");
    const kinds = (without: number) =>
      Array.from({ length: 5 }, (_, at) => (at === without ? { rotary: "none" as const } : {}));
    const smollm = await model("smollm3", {}, { layers: 5, layerKinds: kinds(3) });
    expect(readGguf(await smollm.export(gguf)).metadata.get("general.architecture")).toBe("smollm3");
    const other = await model("smollm3", {}, { layers: 5, layerKinds: kinds(2) });
    await expect(other.export(gguf)).rejects.toThrow("a model with layerKinds cannot be written");
    const everywhere = await model("smollm3", {}, { layers: 5, layerKinds: undefined });
    await expect(everywhere.export(gguf)).rejects.toThrow("a model with positions in layer 4 cannot be written");
    await expect((await model("olmo2")).export(gguf)).rejects.toThrow(
      "models of the family olmo2 cannot be written as GGUF; those of llama, mistral, qwen2, qwen3, qwen3_moe, smollm3, granite can",
    );
    await expect((await model("qwen3-moe-raw-shares", { targets: ["q", "k", "v"] })).export(gguf)).rejects.toThrow(
      "whose shares of experts do not sum to one",
    );
  });

  test("is refused, with what it is, for what llama.cpp computes in another way", async () => {
    const trained = await model("qwen3-tied");
    const gguf = { layout: "gguf", format: "F32" } as const;
    // The tokenizer of the bundled model splits texts by a pattern of its own.
    await expect(trained.export(gguf, { baseModel: "heddle/starter" })).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("which llama.cpp has no name for"),
    });
    await editJson(join(trained.base, "tokenizer.json"), { model: { type: "Unigram", vocab: [] } });
    await expect(trained.export(gguf)).rejects.toThrow('a tokenizer of "Unigram" cannot be written as GGUF');
    const other = await model("llama-tied");
    const scaling = { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32 };
    await editJson(join(other.base, "config.json"), {
      rope_parameters: undefined,
      rope_theta: 1e4,
      rope_scaling: scaling,
    });
    await expect(other.export(gguf)).rejects.toThrow("rotary scaling of the type yarn");
  });
});
