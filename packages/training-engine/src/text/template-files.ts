import { join } from "node:path";
import { EngineError } from "../engine-error.js";
import { isObject, readModelJson, readModelText } from "./model-file.js";

export const maxTemplateLength = 256 * 1024;
const maxConfigBytes = 16 * 1024 * 1024;

/** Chat templates by name; a directory with one template has `default`. */
export type ChatTemplates = ReadonlyMap<string, string>;

/** From `chat_template.jinja`, else from `chat_template` of `tokenizer_config.json`: one text, or a list with names. */
export async function readChatTemplates(directory: string): Promise<ChatTemplates> {
  const own = await readModelText(directory, "chat_template.jinja", maxTemplateLength);
  const config = await readModelJson(directory, "tokenizer_config.json", maxConfigBytes);
  const path = join(directory, "tokenizer_config.json");
  const templates = new Map<string, string>();
  const given: unknown = config?.["chat_template"];
  if (Array.isArray(given)) {
    for (const [index, each] of given.entries()) {
      if (!isObject(each) || typeof each["name"] !== "string" || typeof each["template"] !== "string") {
        throw new EngineError("invalid", `${path}: chat_template.${index}: not a name with a template`);
      }
      templates.set(each["name"], each["template"]);
    }
  } else if (typeof given === "string") {
    templates.set("default", given);
  } else if (given !== undefined && given !== null) {
    throw new EngineError("invalid", `${path}: chat_template: neither a text nor a list`);
  }
  if (own !== undefined) templates.set("default", own);
  for (const [name, template] of templates) {
    if (template.length > maxTemplateLength) {
      throw new EngineError("too_large", `${path}: chat_template ${name}: more than ${maxTemplateLength} characters`);
    }
  }
  return templates;
}

/** With tools, the one named `tool_use` if there is one. */
export function chooseTemplate(templates: ChatTemplates, { tools }: { tools: boolean }): string {
  const template = (tools ? templates.get("tool_use") : undefined) ?? templates.get("default");
  if (template !== undefined) return template;
  const others = [...templates.keys()].map((name) => JSON.stringify(name)).join(", ");
  throw new EngineError(
    "invalid",
    others === ""
      ? "this model has no chat template and the request gives none"
      : `this model's chat templates are named ${others}; none of them is "default"`,
    "chat_template",
  );
}
