import { isJson, arrayItems, stringMember, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { leafAt } from "../query/leaf.js";
import type { AttributeLayout } from "./attribute-layout.js";
import { hasOwnValue, membersOf, nodeJson } from "./attribute-node.js";
import type { AttributeNode } from "./attribute-node.js";
import { isStorableAsIs } from "./attribute-tree.js";
import type { AttributeTree } from "./attribute-tree.js";
import { jsonAttributes } from "./sender-attributes.js";
import type { PresentSource, Source, Sources } from "./source-path.js";

/** An event as far as sources look into it: its attributes are a JSON text. */
interface EventData {
  name: string;
  attributes: JsonText;
}

export interface SpanData {
  tree: AttributeTree;
  events: readonly EventData[];
}

export interface Hit {
  name: string;
  value: JsonText;
  /** What belongs to it under names of its own. */
  others: ReadonlyArray<readonly [name: string, value: JsonText]> | undefined;
}

const eventPrefix = "events.";
const structuredMark = "{}";

/** Reads names as of `senderAttributes`. */
export function sources(...names: string[]): Sources {
  return names.map((name): Source => {
    const [event = "", attribute] = name.split("#");
    if (attribute !== undefined) return { name: attribute, events: [event], path: attribute.split(".") };
    if (name.startsWith(eventPrefix)) return { name, events: name.slice(eventPrefix.length).split("+") };
    const [conditional = "", having] = name.split("?");
    const structured = conditional.endsWith(structuredMark);
    const key = structured ? conditional.slice(0, -structuredMark.length) : conditional;
    const json = jsonAttributes.some((prefix) => key.startsWith(prefix));
    return { name: key, path: key.split("."), json, structured, having: having?.split(".") };
  });
}

/** The value of the first source that is there; null counts as absent. */
export function first(candidates: Sources, { tree, events }: SpanData): Hit | undefined {
  for (const { source, node, rest } of presentOf(candidates, tree.layout)) {
    const hit = node === undefined ? eventsHit(source, events) : attributeHit(source, node, rest, tree);
    if (hit !== undefined) return hit;
  }
  return undefined;
}

/** The values of all sources that are there. */
export function everyHit(candidates: Sources, { tree }: SpanData): Hit[] {
  const hits: Hit[] = [];
  for (const { source, node, rest } of presentOf(candidates, tree.layout)) {
    const hit = node === undefined ? undefined : attributeHit(source, node, rest, tree);
    if (hit !== undefined) hits.push(hit);
  }
  return hits;
}

/** The first source that is there as text, undefined where it is empty; other values as their JSON text. */
export function firstText(candidates: Sources, data: SpanData): string | undefined {
  const json = first(candidates, data)?.value;
  return json === undefined ? undefined : (stringValue(json) ?? json) || undefined;
}

/** Events that the attribute `events` lists, as Logfire writes messages. */
export function listedEvents({ layout, values }: AttributeTree): EventData[] {
  const node = layout.root.children.get("events");
  if (node === undefined) return [];
  return arrayItems(nodeJson(node, values)).flatMap((attributes) => {
    const name = stringMember(attributes, "event.name");
    return name === undefined ? [] : [{ name, attributes }];
  });
}

function attributeHit(
  { name, json, structured, having }: Source,
  node: AttributeNode,
  rest: readonly string[],
  { values }: AttributeTree,
): Hit | undefined {
  const whole = nodeJson(node, values);
  const found = rest.length > 0 ? leafAt(whole, rest) : whole;
  if (found === undefined || found === "null") return undefined;
  if (structured === true && !/^[[{]/.test(found)) return undefined;
  if (having !== undefined && leafAt(found, having) === undefined) return undefined;
  const value = json === true ? textsInJson(found) : found;
  if (!hasOwnValue(node)) return { name, value, others: undefined };
  const below = [...node.children].flatMap(([key, child]) => membersOf(`${name}.${key}`, child));
  return { name, value, others: below.map(([member, child]) => [member, nodeJson(child, values)] as const) };
}

/** As `textInJson`, for the texts of a list too. */
function textsInJson(json: JsonText): JsonText {
  return json.startsWith('["') ? `[${arrayItems(json).map(textInJson).join(",")}]` : textInJson(json);
}

/** The text that a text holds as JSON, else the value as it is; so is one that the store would change. */
function textInJson(json: JsonText): JsonText {
  const text = stringValue(json);
  return text?.startsWith('"') && isJson(text) && isStorableAsIs(text) ? text : json;
}

function eventsHit({ name, path, events = [] }: Source, all: readonly EventData[]): Hit | undefined {
  if (all.length === 0) return undefined;
  if (path !== undefined) {
    for (const { attributes } of all.filter((event) => events.includes(event.name))) {
      const value = leafAt(attributes, path);
      if (value !== undefined) return { name, value, others: undefined };
    }
    return undefined;
  }
  const [hit, ...others] = events.flatMap((event) => {
    const contents = all.filter((one) => one.name === event).map(({ attributes }) => attributes);
    return contents.length > 0 ? [[`${eventPrefix}${event}`, `[${contents.join(",")}]`] as const] : [];
  });
  return hit && { name: hit[0], value: hit[1], others };
}

function presentOf(candidates: Sources, layout: AttributeLayout): PresentSource[] {
  let present = layout.present.get(candidates);
  if (present === undefined) {
    present = [];
    for (const source of candidates) {
      const found = located(source, layout);
      if (found !== undefined) present.push(found);
    }
    layout.present.set(candidates, present);
  }
  return present;
}

function located(source: Source, { root }: AttributeLayout): PresentSource | undefined {
  if (source.events !== undefined) return { source, node: undefined, rest: [] };
  const { path = [] } = source;
  let node: AttributeNode = root;
  for (let index = 0; index < path.length; index++) {
    if (typeof node === "number") return { source, node, rest: path.slice(index) };
    const child: AttributeNode | undefined = node.children.get(path[index] ?? "");
    if (child === undefined) {
      return node.own === undefined ? undefined : { source, node: node.own, rest: path.slice(index) };
    }
    node = child;
  }
  return { source, node, rest: [] };
}
