import { stringValue } from "../json/members.js";
import type { JsonText } from "../json/scan.js";
import { leafAt } from "../query/leaf.js";
import type { AttributeLayout } from "./attribute-layout.js";
import { nodeJson } from "./attribute-node.js";
import type { AttributeNode } from "./attribute-node.js";
import type { AttributeTree } from "./attribute-tree.js";
import type { PresentSource, Source, Sources } from "./source-path.js";

/** A span as far as sources look into it; the attributes of its events are JSON texts. */
export interface SpanData {
  tree: AttributeTree;
  events: ReadonlyArray<{ name: string; attributes: JsonText }>;
}

export interface Hit {
  name: string;
  value: JsonText;
}

const eventPrefix = "events.";

/** Dotted paths in the attributes; `events.…` are the events of that name. */
export function sources(...names: string[]): Sources {
  return names.map((name) => (name.startsWith(eventPrefix) ? { name } : { name, path: name.split(".") }));
}

/** The value of the first source that is there; null counts as absent. */
export function first(candidates: Sources, { tree, events }: SpanData): Hit | undefined {
  for (const { name, node, rest } of presentOf(candidates, tree.layout)) {
    const value = node === undefined ? eventContent(name, events) : valueAt(node, rest, tree);
    if (value !== undefined) return { name, value };
  }
  return undefined;
}

/** The first source that is there as text, undefined where it is empty; other values as their JSON text. */
export function firstText(candidates: Sources, data: SpanData): string | undefined {
  const json = first(candidates, data)?.value;
  return json === undefined ? undefined : (stringValue(json) ?? json) || undefined;
}

function valueAt(node: AttributeNode, rest: readonly string[], { values }: AttributeTree): JsonText | undefined {
  const json = nodeJson(node, values);
  if (rest.length > 0) return leafAt(json, rest);
  return json === "null" ? undefined : json;
}

/** A list of the attributes of each event of a name, also when there is but one. */
function eventContent(source: string, events: SpanData["events"]): JsonText | undefined {
  if (events.length === 0) return undefined;
  const name = source.slice(eventPrefix.length);
  const contents = events.filter((event) => event.name === name).map(({ attributes }) => attributes);
  return contents.length > 0 ? `[${contents.join(",")}]` : undefined;
}

function presentOf(candidates: Sources, layout: AttributeLayout): PresentSource[] {
  let present = layout.present.get(candidates);
  if (present === undefined) {
    present = candidates.map((source) => located(source, layout)).filter((source) => source !== undefined);
    layout.present.set(candidates, present);
  }
  return present;
}

function located({ name, path }: Source, { root }: AttributeLayout): PresentSource | undefined {
  if (path === undefined) return { name, node: undefined, rest: [] };
  let node: AttributeNode = root;
  for (const [index, segment] of path.entries()) {
    if (typeof node === "number") return { name, node, rest: path.slice(index) };
    const child = node.children.get(segment);
    if (child === undefined) return undefined;
    node = child;
  }
  return { name, node, rest: [] };
}
