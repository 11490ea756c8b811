import type { ToolParameters } from "./argument-text.js";
import { argumentJson, objectText } from "./argument-text.js";
import type { WrittenCall } from "./tool-call.js";

/** Texts around the keys and values of arguments. */
interface ArgumentTags {
  key: [open: string, close: string];
  value: [open: string, close: string];
}

/** Reads `<function=name><parameter=key>value</parameter>…</function>`. The line breaks around a value belong to the tags. */
export function functionTags(body: string, tools: ToolParameters): WrittenCall[] | undefined {
  const [whole, name] = /^\s*<function=([^>\n]+)>/.exec(body) ?? [];
  if (whole === undefined || name === undefined) return undefined;
  const inside = body.slice(whole.length).trimEnd();
  const tags: ArgumentTags = { key: ["<parameter=", ">"], value: ["", "</parameter>"] };
  return readArguments(name, withoutEnd(inside, "</function>"), tags, tools, (value) =>
    value.replace(/^\n/, "").replace(/\n$/, ""),
  );
}

/** Reads `name<arg_key>key</arg_key><arg_value>value</arg_value>…`. */
export function argumentTags(body: string, tools: ToolParameters): WrittenCall[] | undefined {
  const [whole, name] = /^\s*([^\s<]+)\s*/.exec(body) ?? [];
  if (whole === undefined || name === undefined) return undefined;
  const tags: ArgumentTags = { key: ["<arg_key>", "</arg_key>"], value: ["<arg_value>", "</arg_value>"] };
  return readArguments(name, body.slice(whole.length), tags, tools, (value) => value);
}

function withoutEnd(text: string, end: string): string {
  return text.endsWith(end) ? text.slice(0, -end.length) : text;
}

/** Returns undefined if anything but arguments is inside. */
function readArguments(
  name: string,
  inside: string,
  tags: ArgumentTags,
  tools: ToolParameters,
  valueOf: (text: string) => string,
): WrittenCall[] | undefined {
  const types = tools.get(name.trim());
  const members: [string, string][] = [];
  for (let at = skipSpace(inside, 0); at < inside.length; at = skipSpace(inside, at)) {
    const key = between(inside, at, tags.key);
    const value = key && between(inside, skipSpaceBefore(inside, key.end, tags.value[0]), tags.value);
    if (!key || !value) return undefined;
    members.push([key.text.trim(), argumentJson(valueOf(value.text), types?.get(key.text.trim()))]);
    at = value.end;
  }
  return [{ name: name.trim(), arguments: objectText(members) }];
}

function between(text: string, at: number, [open, close]: [string, string]): { text: string; end: number } | undefined {
  if (!text.startsWith(open, at)) return undefined;
  const start = at + open.length;
  const end = text.indexOf(close, start);
  return end < 0 ? undefined : { text: text.slice(start, end), end: end + close.length };
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text.charAt(at))) at++;
  return at;
}

/** Skips white space before a tag; without a tag the white space belongs to what follows. */
function skipSpaceBefore(text: string, at: number, tag: string): number {
  return tag === "" ? at : skipSpace(text, at);
}
