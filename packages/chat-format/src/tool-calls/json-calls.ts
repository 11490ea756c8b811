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
  const [, name, json] = /^([\w.-]+)(?:\s+|(?:\[CALL_ID\][^[\]{}]*)?(?:\[ARGS\]\s*)?)(\{.*\})?$/s.exec(text) ?? [];
  if (name === undefined || (json !== undefined && !isJson(json))) return undefined;
  return [{ name, arguments: normalArguments(json ?? "") }];
}

/** Reads a list of objects. */
export function listedCalls(body: string): WrittenCall[] | undefined {
  const text = body.trim();
  if (!text.startsWith("[") || !text.endsWith("]")) return undefined;
  return allOf(topLevelTexts(text.slice(1, -1), ",").map(jsonCall));
}

/** Reads `functools[…]`, a list of objects. */
export function functoolsCalls(message: string): WrittenCall[] | undefined {
  return listedCalls(message.trim().replace(/^functools/, ""));
}

const messageTag = "<|message|>";

/** Reads the name and, after the type or the channel, JSON: `f <|constrain|>json<|message|>{…}`. */
export function harmonyCalls(body: string): WrittenCall[] | undefined {
  const text = body.trim();
  const end = text.indexOf(messageTag);
  const [name] = /^[\w.-]+/.exec(text) ?? [];
  if (end < 0 || name === undefined) return undefined;
  const between = text.slice(name.length, end);
  const json = text.slice(end + messageTag.length).trim();
  if (!/^(?:[\s\w]|<\|constrain\|>|<\|channel\|>)*$/.test(between) || (json !== "" && !isJson(json))) return undefined;
  return [{ name, arguments: normalArguments(json) }];
}

const separator = "<｜tool▁sep｜>";
const fence = "```";

/** Reads the forms of DeepSeek: `function<sep>name`, a line break and JSON in a fence, or `name<sep>{…}`. */
export function deepSeekCalls(body: string): WrittenCall[] | undefined {
  const at = body.indexOf(separator);
  if (at < 0) return undefined;
  const [kind, rest] = [body.slice(0, at).trim(), body.slice(at + separator.length).trim()];
  const begin = rest.indexOf(`${fence}json`);
  const isFenced = begin >= 0 && rest.endsWith(fence) && rest.length > begin + fence.length + 4;
  const name = isFenced ? rest.slice(0, begin).trim() : kind;
  const json = isFenced ? rest.slice(begin + fence.length + 4, -fence.length).trim() : rest;
  if (name === "" || name.includes("\n") || (json !== "" && !isJson(json))) return undefined;
  return [{ name, arguments: normalArguments(json) }];
}

function allOf(calls: (WrittenCall | undefined)[]): WrittenCall[] | undefined {
  const known = calls.filter((call) => call !== undefined);
  return calls.length > 0 && known.length === calls.length ? known : undefined;
}

/** Splits a text into the objects at its top level. Returns one empty text for anything else between them. */
function topLevelTexts(text: string, between: string): string[] {
  const texts: string[] = [];
  let depth = 0;
  let start = 0;
  let outside = "";
  for (const { 0: part, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]|[^"{}]+|"/gs)) {
    if (part === '"') return [""];
    if (depth === 0 && part !== "{") outside += part;
    if (part === "{" && depth++ === 0) start = index;
    if (part === "}" && --depth === 0) texts.push(text.slice(start, index + 1));
    if (depth < 0) return [""];
  }
  const separators = outside.replaceAll(/\s/g, "");
  return depth === 0 && separators.replaceAll(between, "") === "" ? texts : [""];
}
