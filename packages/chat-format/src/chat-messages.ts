import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import type { ExactObject } from "./jinja/parse-json.js";
import { parseExactJson } from "./jinja/parse-json.js";
import type { TemplateTraits } from "./template-traits.js";
import { isJsonObject } from "@heddle/exact-json";

/**
 * Converts messages to the form that chat templates expect: content as text (null is empty), or as parts for a template
 * that reads them, arguments of tool calls as objects, reasoning under all its field names, messages of the deprecated
 * role `function` as tool messages. Keeps other fields. Errors have a location that starts with `loc`.
 */
export function templateMessages(
  messages: unknown,
  { traits, loc = ["messages"] }: { traits: TemplateTraits; loc?: Loc },
): Record<string, unknown>[] {
  if (!Array.isArray(messages)) throw new HeddleError("invalid", "messages must be a list", { loc });
  if (messages.length === 0) throw new HeddleError("invalid", "messages must not be empty", { loc });
  return messages.map((message, index) => templateMessage(message, traits, [...loc, index]));
}

function templateMessage(message: unknown, traits: TemplateTraits, loc: Loc): Record<string, unknown> {
  if (!isJsonObject(message)) throw new HeddleError("invalid", "a message must be an object", { loc });
  const role = message["role"];
  if (typeof role !== "string" || role === "")
    throw new HeddleError("invalid", "the role of a message must be text that is not empty", { loc: [...loc, "role"] });
  const { text, texts, thinking } = contentText(message["content"], [...loc, "content"]);
  // Templates read the parts of messages, but not of the results of tools.
  const inParts = traits.contentParts && Array.isArray(message["content"]) && role !== "tool" && role !== "function";
  const content = inParts ? texts.map((part) => ({ type: "text", text: part })) : text;
  const converted: Record<string, unknown> = { ...message, role: templateRole(role, traits), content };
  const reasoning = message["reasoning"] ?? message["reasoning_content"] ?? thinking;
  if (typeof reasoning === "string") {
    converted["reasoning"] = converted["reasoning_content"] = reasoning;
    // The field that the template of gpt-oss reads.
    converted["thinking"] ??= reasoning;
  }
  const calls = toolCalls(message, traits, loc);
  if (calls) converted["tool_calls"] = calls;
  else delete converted["tool_calls"];
  delete converted["function_call"];
  return converted;
}

function templateRole(role: string, { developerRole }: TemplateTraits): string {
  if (role === "function") return "tool";
  return role === "developer" && !developerRole ? "system" : role;
}

/** Returns the text of a content: its text parts joined by line breaks. */
export function contentText(content: unknown, loc: Loc): { text: string; texts: string[]; thinking?: string } {
  if (content === undefined || content === null) return { text: "", texts: [] };
  if (typeof content === "string") return { text: content, texts: [content] };
  if (!Array.isArray(content))
    throw new HeddleError("invalid", "the content of a message must be text or a list of parts", { loc });
  const texts: string[] = [];
  const thoughts: string[] = [];
  for (const [index, part] of content.entries()) {
    const partLoc = [...loc, index];
    const type = typeof part === "string" ? "text" : isJsonObject(part) ? part["type"] : undefined;
    if (type !== "text" && type !== "refusal" && type !== "thinking") {
      if (typeof type !== "string")
        throw new HeddleError("invalid", "a content part must be text or an object with a type", { loc: partLoc });
      throw new HeddleError("unsupported", `this model reads text only, not ${JSON.stringify(type)}`, { loc: partLoc });
    }
    const text: unknown = isJsonObject(part) ? part[type] : part;
    if (typeof text !== "string") throw new HeddleError("invalid", `${type} must be text`, { loc: [...partLoc, type] });
    (type === "thinking" ? thoughts : texts).push(text);
  }
  return { text: texts.join("\n"), texts, ...(thoughts.length > 0 ? { thinking: thoughts.join("\n") } : {}) };
}

function toolCalls(message: Record<string, unknown>, traits: TemplateTraits, loc: Loc): unknown[] | undefined {
  const old = message["function_call"];
  const listed = message["tool_calls"] ?? (isJsonObject(old) ? [{ type: "function", function: old }] : undefined);
  if (listed === undefined || (Array.isArray(listed) && listed.length === 0)) return undefined;
  if (!Array.isArray(listed))
    throw new HeddleError("invalid", "tool_calls must be a list", { loc: [...loc, "tool_calls"] });
  return listed.map((call: unknown, index) => toolCall(call, traits, [...loc, "tool_calls", index]));
}

function toolCall(call: unknown, traits: TemplateTraits, loc: Loc): unknown {
  const custom = isJsonObject(call) && isJsonObject(call["custom"]) ? call["custom"] : undefined;
  const named = isJsonObject(call) && isJsonObject(call["function"]) ? call["function"] : custom;
  if (!isJsonObject(call) || !named || typeof named["name"] !== "string") {
    throw new HeddleError("invalid", "a tool call must name its function", { loc: [...loc, "function", "name"] });
  }
  const given = named["arguments"] ?? (custom ? { input: custom["input"] } : "{}");
  return { ...call, type: "function", function: { ...named, arguments: callArguments(given, traits) } };
}

/**
 * Returns the arguments of a call as an object. Arguments that are none, such as the malformed JSON of a model, stay text
 * if the template can write text. Otherwise they are empty: an error would end the conversation.
 */
function callArguments(given: unknown, { argumentText, argumentTextOnly }: TemplateTraits): unknown {
  if (argumentTextOnly) return typeof given === "string" ? given : JSON.stringify(given);
  if (isJsonObject(given)) return given;
  return (typeof given === "string" ? objectIn(given) : undefined) ?? (argumentText && given !== "" ? given : {});
}

function objectIn(text: string): ExactObject | undefined {
  try {
    const value = parseExactJson(text);
    return value instanceof Map ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Converts tools to `{ type, function: { name, description, parameters, strict } }`, with the fields in this order.
 * Wraps a function without `type`. Returns null for no tools.
 */
export function templateTools(tools: unknown, loc: Loc = ["tools"]): Record<string, unknown>[] | null {
  if (tools === undefined || tools === null) return null;
  if (!Array.isArray(tools)) throw new HeddleError("invalid", "tools must be a list", { loc });
  if (tools.length === 0) return null;
  return tools.map((tool: unknown, index) => {
    const partLoc = [...loc, index];
    const named = isJsonObject(tool) && isJsonObject(tool["function"]) ? tool["function"] : tool;
    if (!isJsonObject(named) || typeof named["name"] !== "string" || named["name"] === "") {
      throw new HeddleError("invalid", "a tool must have a function with a name", {
        loc: [...partLoc, "function", "name"],
      });
    }
    const { name, description, parameters, strict, ...rest } = named;
    if (named === tool) delete rest["type"];
    const ordered = Object.entries({ name, description, parameters, strict, ...rest }).filter(
      ([, value]) => value !== undefined && value !== null,
    );
    return { type: "function", function: Object.fromEntries(ordered) };
  });
}
