import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedEngine } from "../src/engine.js";
import type { BaseModelName, TrainingEngine } from "@heddle/training";
import type { ChatTemplate } from "@heddle/chat-format";
import { openChatTemplate } from "@heddle/chat-format";

export interface OpenedModel {
  engine: TrainingEngine;
  template: ChatTemplate;
  /** Directory for checkpoints, removed by `close`. */
  directory: string;
  close: () => Promise<void>;
}

/** The embedded engine with a base model's chat template. Throws with the engine's reason if it is not available. */
export async function openModel(name: BaseModelName): Promise<OpenedModel> {
  const engine = await openEmbeddedEngine({ models: {} });
  const [{ models }, health] = await Promise.all([engine.capabilities(), engine.health()]);
  const model = models.find((each) => each.name === name);
  if (!model) throw new Error(health.detail ?? `there is no model ${name}`);
  const template = await openChatTemplate(model.directory, { trusted: true });
  const directory = await mkdtemp(join(tmpdir(), "heddle-example-"));
  const close = async (): Promise<void> => {
    await engine.close();
    await rm(directory, { recursive: true, force: true });
  };
  return { engine, template, directory, close };
}
