import { HeddleError } from "@heddle/errors";
import { jsonType } from "@heddle/trace-model";
import type { JsonText } from "@heddle/trace-model";
import { withPrefix } from "../error-prefix.js";
import { schemaFault } from "../json-schema.js";
import { chatModel } from "../providers/chat-completions.js";
import type { Services } from "../services.js";
import { CompletionModel } from "./completion-model.js";
import type { ModelSettings } from "./completion-model.js";
import { loadPrompt } from "./load-prompt.js";
import { isMembers } from "./members.js";
import type { Members } from "./members.js";
import { modelSchema } from "./model-schema.js";
import { ownChatModel, ownModelName } from "./own-chat-model.js";

export const modelClass = "LLMStructuredCompletionModel";

/** A check of one object, whose schema is this service's own. */
const checkMs = 250;

/** Throws `invalid` for a value that is no model object, with the member and the reason. */
export function checkModelValue(val: JsonText): void {
  settingsOf(val);
}

/** Makes a model of the value of a model object. Throws as `loadModel` does. */
export async function modelOf(
  services: Pick<Services, "store" | "providers" | "completions">,
  projectId: string,
  val: JsonText,
  objectId: string,
): Promise<CompletionModel> {
  const { llm_model_id: modelId, params, name } = settingsOf(val);
  const { messages_template, prompt, response_format, ...rest } = params;
  const template = prompt === undefined ? (messages_template ?? []) : await loadPrompt(services, projectId, prompt);
  const found: ModelSettings = {
    name: name ?? objectId,
    modelId,
    template,
    parameters: {
      ...rest,
      ...(response_format !== undefined && { response_format: wireFormat(response_format) }),
    },
  };
  const own = ownModelName(modelId);
  const chat = withPrefix(`llm_model_id ${JSON.stringify(modelId)}`, () =>
    own === undefined ? chatModel(services.providers, modelId) : ownChatModel(services.completions, projectId, own),
  );
  return new CompletionModel(found, chat);
}

interface StoredModel {
  name?: string;
  llm_model_id: string;
  default_params?: StoredParameters;
}

interface StoredParameters {
  messages_template?: readonly Members[];
  prompt?: string;
  response_format?: string | Members;
  [parameter: string]: unknown;
}

function settingsOf(val: JsonText): StoredModel & { params: StoredParameters } {
  if (jsonType(val) !== "object") throw new HeddleError("invalid", `a value of class ${modelClass} must be an object`);
  const stored = setMembers(JSON.parse(val) as Members);
  if (isMembers(stored["default_params"])) {
    const params = setMembers(stored["default_params"]);
    const messages = params["messages_template"];
    if (Array.isArray(messages)) {
      params["messages_template"] = messages.map((message: unknown) =>
        isMembers(message) ? setMembers(message) : message,
      );
    }
    stored["default_params"] = params;
  }
  const fault = schemaFault(modelSchema, JSON.stringify(stored), checkMs);
  if (fault !== undefined) throw new HeddleError("invalid", fault);
  const { name, llm_model_id, default_params } = stored as unknown as StoredModel;
  if (llm_model_id.startsWith("weave:///")) {
    const text =
      'llm_model_id must be text as "<provider>/<model>": the operator configures providers (HEDDLE_PROVIDERS)';
    throw new HeddleError("invalid", text);
  }
  // Providers refuse empty lists; of several choices, only the first would be used.
  const isUsed = ([key, member]: [string, unknown]) =>
    key !== "n_times" && !(Array.isArray(member) && member.length === 0);
  const params = Object.fromEntries(Object.entries(default_params ?? {}).filter(isUsed));
  return { ...(typeof name === "string" && name !== "" && { name }), llm_model_id, params };
}

const classMembers = new Set(["_type", "_class_name", "_bases"]);

/** Without what SDKs add to each object: nulls for what is not set, and members about its class. */
function setMembers(members: Members): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([key, value]) => value !== null && !classMembers.has(key)));
}

/** SDKs store the type alone. */
function wireFormat(format: string | Members): Members {
  if (typeof format !== "string") return format;
  return { type: format === "json" ? "json_object" : format };
}
