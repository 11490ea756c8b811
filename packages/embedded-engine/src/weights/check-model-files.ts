import { join } from "node:path";
import { openVocabulary } from "@heddle/chat-format";
import { ifExists } from "@heddle/durable-files";
import type { ModelConfig } from "../model/config.js";
import { fileStamp } from "./file-digests.js";
import { checkModelTensors } from "./model-directory.js";
import { tensorFiles } from "./sharded-tensors.js";

/** Files other than tensors that a model is loaded from. */
const files = ["config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"];

/** Results by directory, with the state of the files that were checked. */
const checked = new Map<string, { stamps: string; result: Promise<void> }>();

/**
 * Checks that a model directory can be loaded: its tokenizer, and the names and shapes of its tensors. Files that have
 * not changed are not checked again. Rejects with the error that loading would have.
 */
export async function checkModelFiles(directory: string, config: ModelConfig): Promise<void> {
  const names = [...files, ...(await tensorFiles(directory, "model"))];
  const found = await Promise.all(names.map((name) => ifExists(fileStamp(join(directory, name)))));
  const stamps = JSON.stringify([names, found.map((stamp) => stamp ?? "missing")]);
  const known = checked.get(directory);
  if (known?.stamps === stamps) return known.result;
  const result = check(directory, config);
  checked.set(directory, { stamps, result });
  return result;
}

async function check(directory: string, config: ModelConfig): Promise<void> {
  await checkModelTensors(directory, config);
  await openVocabulary(directory);
}
