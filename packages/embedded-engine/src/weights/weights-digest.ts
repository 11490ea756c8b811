import { createHash } from "node:crypto";
import { join } from "node:path";
import type { ModelConfig } from "../model/config.js";
import { fileDigest } from "./file-digests.js";
import { tensorFiles } from "./sharded-tensors.js";
import type { TrainingState } from "./training-state.js";
import { weightFiles } from "./training-state.js";

// The identity of weights by content: a SHA-256 in hexadecimal. Weights with the same digest compute the same numbers.

/** Returns the digest of the model in a directory, which covers its shape and the bytes of its tensors. */
export async function modelDigest(directory: string, config: ModelConfig): Promise<string> {
  const files = await tensorFiles(directory, "model");
  const digests = await Promise.all(files.map(async (name) => [name, await fileDigest(join(directory, name))]));
  return digestOf(["model", sorted(config), digests]);
}

/** Returns the digest of random weights, which follow from shape and seed. */
export function randomDigest(config: ModelConfig, seed: number): string {
  return digestOf(["random", sorted(config), seed]);
}

/** Returns the digest of a checkpoint's weights, without its optimizer; that of an adapter covers its base model. */
export function checkpointDigest({ training, files }: TrainingState, baseDigest: string): string {
  const weights = weightFiles[training].map((name) => [name, files.get(name)?.sha256 ?? null]);
  return digestOf(training === "full" ? ["full", weights] : ["adapter", baseDigest, weights]);
}

function digestOf(parts: unknown): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** Entries in the order of their names, so that the order of fields in the code does not matter. */
function sorted(config: object): [string, unknown][] {
  return Object.entries(config)
    .map(([name, value]): [string, unknown] => [name, typeof value === "object" && value ? sorted(value) : value])
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
}
