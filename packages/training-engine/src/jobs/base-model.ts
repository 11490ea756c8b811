import { EngineError } from "../engine-error.js";
import { isBundledModel } from "../objective/optimizer-defaults.js";
import type { BaseModelInfo, BaseModelName, TrainingEngine } from "../port.js";
import type { ChatTemplate } from "../text/template.js";
import { openChatTemplate } from "../text/template.js";
import { openTokenizer } from "../text/tokenizer.js";

/**
 * Opens a base model of the engine with its chat template. Throws `not_found`, with the known models, for an unknown
 * name.
 */
export async function openBaseModel(
  engine: TrainingEngine,
  name: BaseModelName,
): Promise<{ info: BaseModelInfo; template: ChatTemplate }> {
  const { models } = await engine.capabilities();
  const info = models.find((model) => model.name === name);
  if (!info) {
    const known = models.map((model) => model.name).join(", ") || "none";
    throw new EngineError("not_found", `There is no base model ${name}; known models: ${known}.`, "base_model");
  }
  const tokenizer = await openTokenizer(info.directory);
  return { info, template: await openChatTemplate(info.directory, tokenizer, { trusted: isBundledModel(name) }) };
}
