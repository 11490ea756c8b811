import { jsonType, withMembers } from "@heddle/exact-json";
import { jsonChildren, childrenStep } from "../json/json-children.js";
import { asText, membersOf } from "../json/members.js";

/**
 * The request that is tried: its members as exact text, so that what is not edited is sent byte for byte. The model is not in
 * it, nor how the response is sent.
 */
export type Draft = ReadonlyMap<string, string>;

const notInDraft = new Set(["model", "stream", "stream_options"]);

/** An empty conversation. */
export const emptyDraft: Draft = new Map([["messages", '[{"role":"user","content":""}]']]);

/** The draft of a recorded request, and its model. */
export function draftOf(request: string): { draft: Draft; model: string } {
  const members = membersOf(request);
  const draft = new Map([...members].filter(([name]) => !notInDraft.has(name)));
  return { draft, model: asText(members.get("model") ?? '""') };
}

/** With how many tokens it read and wrote. */
const streamed = '"stream":true,"stream_options":{"include_usage":true}';

/** The body that a model is sent. */
export function bodyOf(draft: Draft, model: string): string {
  const members = [...draft].map(([name, json]) => `${JSON.stringify(name)}:${json}`);
  return `{${[`"model":${JSON.stringify(model)}`, ...members, streamed].join(",")}}`;
}

/** The messages, each as exact text. */
export function messagesIn(draft: Draft): string[] {
  const json = draft.get("messages") ?? "[]";
  if (jsonType(json) !== "array") return [];
  const messages: string[] = [];
  for (;;) {
    const { children, more } = jsonChildren(json, 0, json.length, messages.length);
    messages.push(...children.map(({ from, to }) => json.slice(from, to)));
    if (!more || children.length < childrenStep) return messages;
  }
}

/** With other messages. Where they are the same, the text between them stays, too. */
export function withMessages(draft: Draft, messages: readonly string[]): Draft {
  const present = messagesIn(draft);
  if (messages.length === present.length && messages.every((message, at) => message === present[at])) return draft;
  return withMember(draft, "messages", `[${messages.join(",")}]`);
}

/** What a message says where that is one text; undefined for parts, such as images, and for none. */
export function textOfMessage(message: string): string | undefined {
  const content = membersOf(message).get("content");
  return content !== undefined && jsonType(content) === "string" ? asText(content) : undefined;
}

export const roleOf = (message: string): string => asText(membersOf(message).get("role") ?? '""');

/** The message with another text or role; its other members stay as they are. */
export const editMessage = (message: string, change: { content?: string; role?: string }): string =>
  withMembers(message, Object.fromEntries(Object.entries(change).map(([name, text]) => [name, JSON.stringify(text)])));

/** With a member set; undefined takes it away. */
export function withMember(draft: Draft, name: string, json: string | undefined): Draft {
  const next = new Map(draft);
  if (json === undefined) next.delete(name);
  else next.set(name, json);
  return next;
}

/** All but messages and tools, as it is edited: one member a line. */
export function parametersText(draft: Draft): string {
  const rest = [...draft].filter(([name]) => name !== "messages" && name !== "tools");
  if (rest.length === 0) return "{}";
  return `{\n${rest.map(([name, json]) => `  ${JSON.stringify(name)}: ${json}`).join(",\n")}\n}`;
}

/** The draft with other parameters, or why their text is none. */
export function withParameters(draft: Draft, text: string): { draft: Draft } | { mistake: string } {
  try {
    JSON.parse(text);
  } catch (error) {
    return { mistake: `No JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  if (jsonType(text) !== "object") return { mistake: 'A JSON object, such as {"temperature": 0.5}' };
  const members = membersOf(text);
  for (const name of ["messages", "tools", ...notInDraft])
    if (members.has(name)) return { mistake: `${name} is not set here` };
  const kept = [...draft].filter(([name]) => name === "messages" || name === "tools");
  return { draft: new Map([...kept, ...members]) };
}

/** The draft with tools as they are written, or why they are none; without text it has none. */
export function withTools(draft: Draft, text: string): { draft: Draft } | { mistake: string } {
  if (text.trim() === "") return { draft: withMember(draft, "tools", undefined) };
  try {
    JSON.parse(text);
  } catch (error) {
    return { mistake: `No JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  const tools = jsonType(text) === "array" ? toolsIn(text) : undefined;
  if (tools === undefined) return { mistake: "A list of tools, in brackets" };
  const nameless = tools.findIndex((tool) => nameOfTool(tool) === undefined);
  if (nameless >= 0) return { mistake: `Tool ${nameless + 1} has no function with a name` };
  return { draft: withMember(draft, "tools", text.trim()) };
}

function toolsIn(json: string): string[] {
  return jsonChildren(json, 0, json.length).children.map(({ from, to }) => json.slice(from, to));
}

function nameOfTool(tool: string): string | undefined {
  const name = membersOf(membersOf(tool).get("function") ?? "").get("name");
  return name !== undefined && jsonType(name) === "string" ? asText(name) : undefined;
}

/** The names of the tools that a model may call. */
export function toolNamesIn(draft: Draft): string[] {
  const json = draft.get("tools");
  if (json === undefined || jsonType(json) !== "array") return [];
  return toolsIn(json).map((tool) => nameOfTool(tool) ?? "?");
}
