import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ModelAdapter, NewTrainingModel } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { weightFiles } from "@heddle/training";
import { storeContent } from "../artifacts/store-content.js";
import type { Services } from "../services.js";
import { newAdapter } from "./model-adapter.js";

type Used = Pick<Services, "control" | "blobs" | "training" | "config">;

/**
 * Makes an adapter without effect content of a project: what clients download as step 0 of a new model. Undefined where the
 * engine has none, as for a model of a training server.
 */
export async function untrainedAdapter(
  services: Used,
  { projectId, baseModel, lora }: { projectId: string; baseModel: string; lora: ModelAdapter | null },
): Promise<NewTrainingModel["untrained"]> {
  const { training, config } = services;
  const { adapter } = await newAdapter(services, { base_model: baseModel, lora });
  if (adapter === undefined || training.writeUntrainedAdapter === undefined) return undefined;
  const directory = join(config.dataDir, "training", "jobs", `step0-${randomUUID()}`);
  try {
    await training.writeUntrainedAdapter(baseModel, adapter, directory);
    const files: { path: string; sha256: string }[] = [];
    for (const path of weightFiles.adapter) {
      const content = await storeContent(services, projectId, createReadStream(join(directory, path)));
      files.push({ path, sha256: content.sha256 });
    }
    return { files, metadata: JSON.stringify({ "wandb.base_model": baseModel, untrained: true }) };
  } catch (error) {
    if (error instanceof HeddleError && error.code === "unsupported") return undefined;
    throw error;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
