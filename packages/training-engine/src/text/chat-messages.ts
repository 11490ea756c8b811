import { EngineError } from "../engine-error.js";
import { isObject } from "./model-file.js";

/** What of a template's source decides how messages are shown to it. */
export interface TemplateTraits {
  /** It knows the role `developer`; else such messages are system messages. */
  developerRole: boolean;
  /** It goes through the arguments of a tool call or writes them as JSON itself; else they stay the text they are. */
  argumentObjects: boolean;
}

export function templateTraits(source: string): TemplateTraits {
  const iterates = /arguments\s*(\|\s*(items|tojson|dictsort|length)\b|\.(items|keys|values|get)\b)/.test(source);
  const looped = /\bin\s+[\w.[\]'"]*\barguments\b/.test(source);
  const acceptsText = /arguments\s+is\s+string/.test(source);
  return { developerRole: /["']developer["']/.test(source), argumentObjects: (iterates || looped) && !acceptsText };
}

/**
 * Messages as a chat template wants them: text for content (its parts joined by line ends, null is empty), reasoning under
 * both of its names, the old function messages as tool messages. Other fields stay. Errors name the place under `path`.
 */
export function templateMessages(
  messages: unknown,
  { traits, path = "messages" }: { traits: TemplateTraits; path?: string },
): Record<string, unknown>[] {
  if (!Array.isArray(messages)) throw new EngineError("invalid", `${path}: not a list of messages`, path);
  if (messages.length === 0) throw new EngineError("invalid", `${path}: no messages`, path);
  return messages.map((message, index) => templateMessage(message, traits, `${path}.${index}`));
}

function templateMessage(message: unknown, traits: TemplateTraits, path: string): Record<string, unknown> {
  if (!isObject(message)) throw new EngineError("invalid", `${path}: not a message`, path);
  const role = message["role"];
  if (typeof role !== "string" || role === "")
    throw new EngineError("invalid", `${path}.role: not a text`, `${path}.role`);
  const { text, thinking } = contentText(message["content"], `${path}.content`);
  const converted: Record<string, unknown> = { ...message, role: templateRole(role, traits), content: text };
  const reasoning = message["reasoning"] ?? message["reasoning_content"] ?? thinking;
  if (typeof reasoning === "string") converted["reasoning"] = converted["reasoning_content"] = reasoning;
  const calls = toolCalls(message, traits, path);
  if (calls) converted["tool_calls"] = calls;
  else delete converted["tool_calls"];
  delete converted["function_call"];
  return converted;
}

function templateRole(role: string, { developerRole }: TemplateTraits): string {
  if (role === "function") return "tool";
  return role === "developer" && !developerRole ? "system" : role;
}

export function contentText(content: unknown, path: string): { text: string; thinking?: string } {
  if (content === undefined || content === null) return { text: "" };
  if (typeof content === "string") return { text: content };
  if (!Array.isArray(content)) throw new EngineError("invalid", `${path}: neither text nor a list of parts`, path);
  const texts: string[] = [];
  const thoughts: string[] = [];
  for (const [index, part] of content.entries()) {
    const partPath = `${path}.${index}`;
    const type = typeof part === "string" ? "text" : isObject(part) ? part["type"] : undefined;
    if (type !== "text" && type !== "refusal" && type !== "thinking") {
      if (typeof type !== "string") throw new EngineError("invalid", `${partPath}: not a content part`, partPath);
      throw new EngineError(
        "unsupported",
        `${partPath}: this model reads text only, not ${JSON.stringify(type)}`,
        partPath,
      );
    }
    const text: unknown = isObject(part) ? part[type] : part;
    if (typeof text !== "string")
      throw new EngineError("invalid", `${partPath}.${type}: not a text`, `${partPath}.${type}`);
    (type === "thinking" ? thoughts : texts).push(text);
  }
  return { text: texts.join("\n"), ...(thoughts.length > 0 ? { thinking: thoughts.join("\n") } : {}) };
}

function toolCalls(message: Record<string, unknown>, traits: TemplateTraits, path: string): unknown[] | undefined {
  const old = message["function_call"];
  const listed = message["tool_calls"] ?? (isObject(old) ? [{ type: "function", function: old }] : undefined);
  if (listed === undefined || (Array.isArray(listed) && listed.length === 0)) return undefined;
  if (!Array.isArray(listed)) throw new EngineError("invalid", `${path}.tool_calls: not a list`, `${path}.tool_calls`);
  return listed.map((call: unknown, index) => toolCall(call, traits, `${path}.tool_calls.${index}`));
}

function toolCall(call: unknown, traits: TemplateTraits, path: string): unknown {
  const custom = isObject(call) && isObject(call["custom"]) ? call["custom"] : undefined;
  const named = isObject(call) && isObject(call["function"]) ? call["function"] : custom;
  if (!isObject(call) || !named || typeof named["name"] !== "string") {
    throw new EngineError("invalid", `${path}.function.name: not a text`, `${path}.function.name`);
  }
  const given = named["arguments"] ?? (custom ? { input: custom["input"] } : "{}");
  return { ...call, type: "function", function: { ...named, arguments: callArguments(given, traits, path) } };
}

function callArguments(given: unknown, { argumentObjects }: TemplateTraits, path: string): unknown {
  const partPath = `${path}.function.arguments`;
  if (!argumentObjects || isObject(given)) return given;
  let value: unknown;
  try {
    value = typeof given === "string" ? JSON.parse(given.trim() === "" ? "{}" : given) : undefined;
  } catch {
    value = undefined;
  }
  if (!isObject(value)) {
    throw new EngineError("invalid", `${partPath}: not a JSON object, which the chat template goes through`, partPath);
  }
  return value;
}

/** Tools as `{ type, function: { name, description, parameters, strict } }` in this order; a bare function is wrapped; none is null. */
export function templateTools(tools: unknown, path = "tools"): Record<string, unknown>[] | null {
  if (tools === undefined || tools === null) return null;
  if (!Array.isArray(tools)) throw new EngineError("invalid", `${path}: not a list`, path);
  if (tools.length === 0) return null;
  return tools.map((tool: unknown, index) => {
    const partPath = `${path}.${index}`;
    const named = isObject(tool) && isObject(tool["function"]) ? tool["function"] : tool;
    if (!isObject(named) || typeof named["name"] !== "string" || named["name"] === "") {
      throw new EngineError("invalid", `${partPath}.function.name: not a text`, `${partPath}.function.name`);
    }
    const { name, description, parameters, strict, ...rest } = named;
    if (named === tool) delete rest["type"];
    const ordered = Object.entries({ name, description, parameters, strict, ...rest }).filter(
      ([, value]) => value !== undefined && value !== null,
    );
    return { type: "function", function: Object.fromEntries(ordered) };
  });
}
