import { digestOf } from "@heddle/training";
import { join } from "node:path";
import type { ModelConfig } from "../model/config.js";
import { fileDigest } from "./file-digests.js";
import { tensorFiles } from "./sharded-tensors.js";

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

/** Entries in the order of their names, so that the order of fields in the code does not matter. */
function sorted(config: object): [string, unknown][] {
  return Object.entries(config)
    .map(([name, value]): [string, unknown] => [name, typeof value === "object" && value ? sorted(value) : value])
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
}
