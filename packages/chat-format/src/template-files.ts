import { HeddleError } from "@heddle/errors";
import { readModelJson, readModelText } from "./model-file.js";
import { isJsonObject } from "@heddle/exact-json";

export const maxTemplateLength = 256 * 1024;
const configFile = "tokenizer_config.json";
const maxConfigBytes = 16 * 1024 * 1024;

/** Chat templates by name; a directory with one template has `default`. */
export type ChatTemplates = ReadonlyMap<string, string>;

/**
 * Reads `chat_template.jinja`, and `chat_template` of `tokenizer_config.json`: one text, or a list with names. The
 * first takes precedence.
 */
export async function readChatTemplates(directory: string): Promise<ChatTemplates> {
  const own = await readModelText(directory, "chat_template.jinja", maxTemplateLength);
  const config = await readModelJson(directory, configFile, maxConfigBytes);
  const templates = new Map<string, string>();
  const given: unknown = config?.["chat_template"];
  if (Array.isArray(given)) {
    for (const [index, each] of given.entries()) {
      if (!isJsonObject(each) || typeof each["name"] !== "string" || typeof each["template"] !== "string") {
        throw new HeddleError("invalid", `${configFile}: chat_template[${index}] must have a name and a template`, {
          details: { file: configFile, field: `chat_template[${index}]` },
        });
      }
      templates.set(each["name"], each["template"]);
    }
  } else if (typeof given === "string") {
    templates.set("default", given);
  } else if (given !== undefined && given !== null) {
    throw new HeddleError("invalid", `${configFile}: chat_template must be text or a list`, {
      details: { file: configFile, field: "chat_template" },
    });
  }
  if (own !== undefined) templates.set("default", own);
  for (const [name, template] of templates) {
    if (template.length > maxTemplateLength) {
      throw new HeddleError(
        "too_large",
        `the chat template ${JSON.stringify(name)} has more than ${maxTemplateLength} characters`,
      );
    }
  }
  return templates;
}

/** Returns the default template, or the one named `tool_use` for a request with tools. */
export function chooseTemplate(templates: ChatTemplates, { tools }: { tools: boolean }): string {
  const template = (tools ? templates.get("tool_use") : undefined) ?? templates.get("default");
  if (template !== undefined) return template;
  const others = [...templates.keys()].map((name) => JSON.stringify(name)).join(", ");
  throw new HeddleError(
    "invalid",
    others === ""
      ? "this model has no chat template and the request gives none"
      : `this model's chat templates are named ${others}; none of them is "default"`,
  );
}
