import { arrayItems, stringMember, stringValue } from "../json/members.js";
import type { JsonText } from "../json/scan.js";
import { leafAt } from "../query/leaf.js";
import type { AttributeLayout } from "./attribute-layout.js";
import { hasOwnValue, membersOf, nodeJson } from "./attribute-node.js";
import type { AttributeNode } from "./attribute-node.js";
import { isJson, isStorableAsIs } from "./attribute-tree.js";
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
  others?: ReadonlyArray<readonly [name: string, value: JsonText]>;
}

const eventPrefix = "events.";

/** Reads names as of `senderAttributes`. */
export function sources(...names: string[]): Sources {
  return names.map((name): Source => {
    const [event = "", attribute] = name.split("#");
    if (attribute !== undefined) return { name: attribute, events: [event], path: attribute.split(".") };
    if (name.startsWith(eventPrefix)) return { name, events: name.slice(eventPrefix.length).split("+") };
    return { name, path: name.split("."), json: jsonAttributes.some((prefix) => name.startsWith(prefix)) };
  });
}

/** The value of the first source that is there; null counts as absent. */
export function first(candidates: Sources, data: SpanData): Hit | undefined {
  for (const source of presentOf(candidates, data.tree.layout)) {
    const hit = source.events === undefined ? attributeHit(source, data.tree) : eventsHit(source, data.events);
    if (hit !== undefined) return hit;
  }
  return undefined;
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
  { name, node, rest, json }: PresentSource & { events?: undefined },
  { values }: AttributeTree,
): Hit | undefined {
  const whole = nodeJson(node, values);
  const found = rest.length > 0 ? leafAt(whole, rest) : whole;
  const value = json === true && found !== undefined ? textInJson(found) : found;
  if (value === undefined || value === "null") return undefined;
  if (!hasOwnValue(node)) return { name, value };
  const below = [...node.children].flatMap(([key, child]) => membersOf(`${name}.${key}`, child));
  return { name, value, others: below.map(([member, child]) => [member, nodeJson(child, values)] as const) };
}

/** The text that a text holds as JSON, else the value as it is; so is one that the store would change. */
function textInJson(json: JsonText): JsonText {
  const text = stringValue(json);
  return text?.startsWith('"') && isJson(text) && isStorableAsIs(text) ? text : json;
}

function eventsHit(
  { name, events, path }: PresentSource & { events: readonly string[] },
  all: readonly EventData[],
): Hit | undefined {
  if (all.length === 0) return undefined;
  if (path !== undefined) {
    for (const { attributes } of all.filter((event) => events.includes(event.name))) {
      const value = leafAt(attributes, path);
      if (value !== undefined) return { name, value };
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
    present = candidates.map((source) => located(source, layout)).filter((source) => source !== undefined);
    layout.present.set(candidates, present);
  }
  return present;
}

function located({ name, path, json, events }: Source, { root }: AttributeLayout): PresentSource | undefined {
  if (events !== undefined) return { name, events, path };
  let node: AttributeNode = root;
  for (const [index, segment] of (path ?? []).entries()) {
    if (typeof node === "number") return { name, node, rest: path?.slice(index) ?? [], json };
    const child: AttributeNode | undefined = node.children.get(segment);
    if (child === undefined) {
      return node.own === undefined ? undefined : { name, node: node.own, rest: path?.slice(index) ?? [], json };
    }
    node = child;
  }
  return { name, node, rest: [], json };
}
