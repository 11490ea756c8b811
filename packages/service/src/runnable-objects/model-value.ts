import type { JsonText } from "@heddle/exact-json";
import type { Computing } from "../computing/computing.js";
import { withPrefix } from "../error-prefix.js";
import { chatModel } from "../providers/chat-completions.js";
import type { ModelBackends } from "./model-backends.js";
import { CompletionModel } from "./completion-model.js";
import { loadPrompt } from "./load-prompt.js";
import { ownChatModel, ownModelName } from "./own-chat-model.js";

/** Makes a model of the value of a model object. Throws as `loadModel` does. */
export async function modelOf(
  services: ModelBackends,
  projectId: string,
  { val, objectId, computing }: { val: JsonText; objectId: string; computing: Computing },
): Promise<CompletionModel> {
  const { name = objectId, modelId, prompt, ...settings } = await computing.run("modelSettings", val);
  const template =
    prompt === undefined ? settings.template : await loadPrompt(services, projectId, { ref: prompt, computing });
  const own = ownModelName(modelId);
  const chat = withPrefix(`llm_model_id ${JSON.stringify(modelId)}`, () =>
    own === undefined ? chatModel(services.providers, modelId) : ownChatModel(services.completions, projectId, own),
  );
  return new CompletionModel({ name, modelId, template, parameters: settings.parameters }, chat, computing);
}
