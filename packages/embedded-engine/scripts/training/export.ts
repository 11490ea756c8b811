import { mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ModelWeights } from "../../src/weights/model-directory.js";
import { writeModel } from "../../src/weights/model-directory.js";

/** Writes the weights in bf16 and the shape into the starter's directory. Does not change its tokenizer. */
export async function exportStarter(directory: string, model: ModelWeights): Promise<void> {
  // In the same directory as the target, so that it can be renamed.
  const draft = await mkdtemp(join(directory, "..", ".starter-"));
  try {
    await writeModel(draft, model, { dtype: "BF16", base: directory });
    for (const file of ["model.safetensors", "config.json"]) await rename(join(draft, file), join(directory, file));
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
