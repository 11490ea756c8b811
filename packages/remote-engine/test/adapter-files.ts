import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
/** Returns a safetensors file with the two factors of one module; the first has the given values. */
export function adapterTensors(values: readonly number[]): Buffer {
  const a = Buffer.from(new Float32Array(values).buffer);
  const b = Buffer.from(new Float32Array([1]).buffer);
  const module = "base_model.model.model.layers.0.self_attn.q_proj";
  const header = Buffer.from(
    JSON.stringify({
      [`${module}.lora_A.weight`]: { dtype: "F32", shape: [values.length], data_offsets: [0, a.length] },
      [`${module}.lora_B.weight`]: { dtype: "F32", shape: [1], data_offsets: [a.length, a.length + b.length] },
    }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, a, b]);
}

/** Reads the values of the first factor. */
export function adapterValues(file: Buffer): number[] {
  const start = 8 + Number(file.readBigUInt64LE(0));
  const bytes = file.subarray(start, file.length - 4);
  return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(4 * at));
}

/** Writes a checkpoint of an adapter whose weights are one number. */
export async function writeCheckpoint(path: string, value: number): Promise<void> {
  await mkdir(path);
  const config = { peft_type: "LORA", r: 8, lora_alpha: 32, target_modules: ["q_proj"] };
  await writeFile(join(path, "adapter_config.json"), JSON.stringify(config));
  await writeFile(join(path, "adapter_model.safetensors"), adapterTensors([value]));
  const base = { base_model: "starter", base_digest: "b" };
  const state = { format: 2, ...base, training: "adapter", steps: 1, seed: 1, files: {} };
  await writeFile(join(path, "training_state.json"), JSON.stringify(state));
}
