import { HeddleError } from "@heddle/errors";
import { jsonType } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { isMembers } from "./members.js";
import type { Members } from "./members.js";
import { modelSchema } from "./model-schema.js";
import { fitting } from "./schema-value.js";

export const modelClass = "LLMStructuredCompletionModel";

/** What a model object says, checked. */
export interface ModelSettings {
  name: string | undefined;
  /** `<provider>/<model>`. */
  modelId: string;
  /** Messages with variables; only `content` is filled. */
  template: JsonText;
  /** Ref of a prompt object, whose messages are used instead. */
  prompt: string | undefined;
  /** Further members of each request, by the names of the OpenAI API. */
  parameters: JsonText;
}

/** Throws `invalid` for a value that is not a model object, with the member and the reason. */
export function modelSettings(val: JsonText): ModelSettings {
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
  const { name, llm_model_id: modelId, default_params = noParameters } = fitting(modelSchema, stored);
  if (modelId.startsWith("weave:///")) {
    const text =
      'llm_model_id must be text as "<provider>/<model>": the operator configures providers (HEDDLE_PROVIDERS)';
    throw new HeddleError("invalid", text);
  }
  const { messages_template: template = [], prompt, response_format: format, ...rest } = default_params;
  const parameters = { ...rest, ...(format !== undefined && { response_format: wireFormat(format) }) };
  return {
    name: typeof name === "string" && name !== "" ? name : undefined,
    modelId,
    template: JSON.stringify(template),
    prompt,
    parameters: JSON.stringify(Object.fromEntries(Object.entries(parameters).filter(isSent))),
  };
}

const noParameters = fitting(modelSchema.properties.default_params, {});

const classMembers = new Set(["_type", "_class_name", "_bases"]);

/** Without what SDKs add to each object: nulls for what is not set, and members about its class. */
function setMembers(members: Members): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([key, value]) => value !== null && !classMembers.has(key)));
}

/** Providers refuse empty lists; of several choices, only the first would be used. */
function isSent([key, member]: [string, unknown]): boolean {
  return key !== "n_times" && !(Array.isArray(member) && member.length === 0);
}

/** SDKs store the type alone. */
function wireFormat(format: string | Members): Members {
  if (typeof format !== "string") return format;
  return { type: format === "json" ? "json_object" : format };
}
