import { createHash } from "node:crypto";

/** The files of a checkpoint that hold its weights and their shape. */
export const weightFiles = {
  full: ["config.json", "model.safetensors"],
  adapter: ["adapter_config.json", "adapter_model.safetensors"],
} as const;

/** What the digest of a checkpoint covers: the kind of training, and the SHA-256 of its files by name. */
interface CheckpointFiles {
  training: keyof typeof weightFiles;
  files: ReadonlyMap<string, { sha256: string }>;
}

/** Returns the digest of a checkpoint's weights, without its optimizer; that of an adapter covers its base model. */
export function checkpointDigest({ training, files }: CheckpointFiles, baseDigest: string): string {
  const weights = weightFiles[training].map((name) => [name, files.get(name)?.sha256 ?? null]);
  return digestOf(training === "full" ? ["full", weights] : ["adapter", baseDigest, weights]);
}

/** Returns the SHA-256 of a JSON value, in hexadecimal. */
export function digestOf(parts: unknown): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
