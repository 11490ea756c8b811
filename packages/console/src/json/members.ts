import { jsonType } from "@heddle/exact-json";
import { jsonChildren, stringAt } from "./json-children.js";

/** The members of an object that are read at most: others are too many for a table or a list of files. */
const mostMembers = 200;

/** The members of a JSON object as exact text, of duplicate keys the last; none for another value. */
export function membersOf(text: string): Map<string, string> {
  if (jsonType(text) !== "object") return new Map();
  const { children } = jsonChildren(text, 0, text.length);
  return new Map(children.slice(0, mostMembers).map(({ key = "", from, to }) => [key, text.slice(from, to)]));
}

/** The items of a list as exact text; none for another value. */
export function itemsOf(text: string): string[] {
  if (jsonType(text) !== "array") return [];
  const items: string[] = [];
  for (let more = true; more;) {
    const found = jsonChildren(text, 0, text.length, items.length);
    items.push(...found.children.map(({ from, to }) => text.slice(from, to)));
    ({ more } = found);
  }
  return items;
}

/** A JSON text as people read it: a string without its quotes. */
export const asText = (json: string): string => (jsonType(json) === "string" ? stringAt(json, 0, json.length) : json);

/** A member that is a string. */
export function stringMember(text: string, name: string): string | undefined {
  const json = membersOf(text).get(name);
  return json !== undefined && jsonType(json) === "string" ? asText(json) : undefined;
}

/** Names and digests of the files that a custom value is kept in, such as the source of an op. */
export function filesOf(text: string): [name: string, digest: string][] {
  const files = membersOf(text).get("files");
  if (files === undefined || stringMember(text, "_type") !== "CustomWeaveType") return [];
  return [...membersOf(files)].flatMap(([name, digest]): [string, string][] =>
    jsonType(digest) === "string" ? [[name, asText(digest)]] : [],
  );
}

interface Message {
  role: string;
  /** Exact JSON where it is not text. */
  content: string;
}

/** What a prompt says: its messages, or its one text as a message without a role. */
export function messagesOf(text: string): Message[] {
  const members = membersOf(text);
  const content = members.get("content");
  if (content !== undefined && jsonType(content) === "string") return [{ role: "", content: asText(content) }];
  return itemsOf(members.get("messages") ?? "").flatMap((item) => {
    const message = membersOf(item);
    const said = message.get("content");
    return said === undefined ? [] : [{ role: asText(message.get("role") ?? ""), content: asText(said) }];
  });
}
