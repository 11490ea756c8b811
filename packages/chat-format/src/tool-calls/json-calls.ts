import type { WrittenCall } from "./tool-call.js";
import { jsonCallReader } from "./json-call-reader.js";

/** Reads `{"name": …, "arguments": {…}}`. The arguments are the text that the model wrote. */
function jsonCall(text: string): WrittenCall | undefined {
  if (!isJson(text)) return undefined;
  const reader = jsonCallReader();
  reader.push(text);
  return reader.name === undefined ? undefined : { name: reader.name, arguments: normalArguments(reader.arguments) };
}

/** Arguments that were not written are an empty object. */
export function normalArguments(text: string): string {
  return text.trim() === "" || text.trim() === "null" ? "{}" : text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Reads one or more objects with semicolons or white space between them, after an optional tag. */
export function llamaCalls(message: string): WrittenCall[] | undefined {
  return allOf(topLevelTexts(message.trim().replace(/^<\|python_tag\|>/, ""), ";").map(jsonCall));
}

/**
 * Reads the forms of Mistral: a list of objects, or a name with arguments: `name{…}`, `name[ARGS]{…}`,
 * `name[CALL_ID]id[ARGS]{…}`.
 */
export function mistralCalls(body: string): WrittenCall[] | undefined {
  const text = body.trim();
  if (text.startsWith("[")) {
    return text.endsWith("]") ? allOf(topLevelTexts(text.slice(1, -1), ",").map(jsonCall)) : undefined;
  }
  const [, name, json] = /^([\w.-]+)\s*(?:\[CALL_ID\][^[\]{}]*)?(?:\[ARGS\])?\s*(\{.*\})?$/s.exec(text) ?? [];
  if (name === undefined || (json !== undefined && !isJson(json))) return undefined;
  return [{ name, arguments: normalArguments(json ?? "") }];
}

/** Reads the forms of DeepSeek: ``function<sep>name ```json {…} ``` ``, or `name<sep>{…}`. */
export function deepSeekCalls(body: string): WrittenCall[] | undefined {
  const [, first, rest = ""] = /^\s*([^<]*)<｜tool▁sep｜>(.*)$/s.exec(body) ?? [];
  if (first === undefined) return undefined;
  const [, name = first, json = rest] = /^([^\n`]*)\n?```json\s*(.*?)\s*```\s*$/s.exec(rest) ?? [];
  if (name.trim() === "" || (json.trim() !== "" && !isJson(json))) return undefined;
  return [{ name: name.trim(), arguments: normalArguments(json.trim()) }];
}

function allOf(calls: (WrittenCall | undefined)[]): WrittenCall[] | undefined {
  const known = calls.filter((call) => call !== undefined);
  return calls.length > 0 && known.length === calls.length ? known : undefined;
}

/** Splits a text into the objects at its top level. Returns one empty text for anything else between them. */
function topLevelTexts(text: string, separator: string): string[] {
  const texts: string[] = [];
  let depth = 0;
  let start = 0;
  let between = "";
  for (const { 0: part, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]|[^"{}]+|"/gs)) {
    if (part === '"') return [""];
    if (depth === 0 && part !== "{") between += part;
    if (part === "{" && depth++ === 0) start = index;
    if (part === "}" && --depth === 0) texts.push(text.slice(start, index + 1));
    if (depth < 0) return [""];
  }
  const separators = between.replaceAll(/\s/g, "");
  return depth === 0 && separators.replaceAll(separator, "") === "" ? texts : [""];
}
