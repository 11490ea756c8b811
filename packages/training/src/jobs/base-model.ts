import { HeddleError } from "@heddle/errors";
import { isBundledModel } from "../objective/optimizer-defaults.js";
import type { BaseModelInfo, TrainingCapabilities } from "../port.js";
import type { ChatTemplate } from "@heddle/chat-format";
import { openChatTemplate } from "@heddle/chat-format";
import type { TrainingJob } from "./training-job.js";

/** Which base model a job has, and for whom its texts are tokenized. */
export type BaseModelOf = Pick<TrainingJob, "engine" | "from" | "adapter" | "sharer" | "signal">;

/**
 * Opens the base model that a job starts from, with its chat template. Throws `not_found`, with the known models, for
 * an unknown name, and `unsupported` for a model that can only be sampled from.
 */
export async function openBaseModel({ engine, from, adapter, sharer, signal }: BaseModelOf): Promise<{
  info: BaseModelInfo;
  training: TrainingCapabilities;
  /** Maximum number of tokens of a sequence of this job. */
  maxSequenceTokens: number;
  template: ChatTemplate;
}> {
  const name = from.baseModel;
  const { models } = await engine.capabilities();
  const info = models.find((model) => model.name === name);
  if (!info) {
    const known = models.map((model) => model.name).join(", ") || "none";
    throw new HeddleError("not_found", `There is no base model ${name}; known models: ${known}.`, {
      loc: ["from", "baseModel"],
    });
  }
  if (!info.training) {
    throw new HeddleError("unsupported", `The model ${name} cannot be trained here.`, { loc: ["from", "baseModel"] });
  }
  const template = await openChatTemplate(info.directory, {
    trusted: isBundledModel(name),
    work: { sharer, signal },
  });
  const { training } = info;
  const ofAdapter = adapter && (training.lora?.sequenceTokens?.(adapter) ?? training.lora?.maxSequenceTokens);
  const maxSequenceTokens = ofAdapter ?? training.maxSequenceTokens;
  return { info, training, maxSequenceTokens, template };
}
