import { InvalidInput } from "../invalid-input.js";
import { exceedsNesting } from "../json/nesting.js";
import type { JsonText } from "../json/scan.js";
import { readable, storable } from "../json/storable.js";
import { leafAt } from "../query/leaf.js";
import { type Attribute, type AttributeValue, maxValueNesting } from "./traces.js";
import { valueJson } from "./value-json.js";

/** Flat dotted attributes unfolded: `a.b.0` becomes a list in `b` in `a`. */
export type AttributeTree = Map<string, AttributeTree | JsonText>;

/**
 * Unfolds attributes. A text that holds a JSON object or list becomes that value, written as it was. Throws
 * InvalidInput when one key is both a value and the parent of others.
 */
export function attributeTree(attributes: readonly Attribute[]): AttributeTree {
  const root: AttributeTree = new Map();
  for (const { key, value } of attributes) {
    const segments = segmentsOf(key);
    const last = segments.at(-1) ?? "";
    if (segments.length > maxValueNesting + 1) throw new InvalidInput(`the attribute ${key} is too deep`);
    let tree = root;
    for (let index = 0; index < segments.length - 1; index++) {
      const segment = segments[index] ?? "";
      let next = tree.get(segment);
      if (typeof next === "string") throw conflict(key);
      if (!next) {
        next = new Map();
        tree.set(segment, next);
      }
      tree = next;
    }
    if (tree.get(last) instanceof Map) throw conflict(key);
    tree.set(last, unfolded(value));
  }
  return root;
}

/** Spans of one program carry the same few keys. */
const knownSegments = new Map<string, readonly string[]>();

function segmentsOf(key: string): readonly string[] {
  let segments = knownSegments.get(key);
  if (segments === undefined) {
    segments = key.split(".");
    if (knownSegments.size >= 1000) knownSegments.clear();
    if (key.length <= 100) knownSegments.set(key, segments);
  }
  return segments;
}

/** The JSON text of a tree; keys 0, 1, … n make a list. */
export function treeJson(tree: AttributeTree): JsonText {
  const isList = tree.has("0") && [...tree.keys()].every((_, index) => tree.has(String(index)));
  if (isList) {
    return `[${[...tree.keys()].map((_, index) => nodeJson(tree.get(String(index)))).join(",")}]`;
  }
  let result = "";
  for (const [key, node] of tree) {
    const name = plainKey.test(key) ? `"${key}":` : `${JSON.stringify(key)}:`;
    result += (result === "" ? name : `,${name}`) + nodeJson(node);
  }
  return `{${result}}`;
}

/** The value at a dotted path, also inside a JSON value; null counts as absent. */
export function findAttribute(tree: AttributeTree, path: readonly string[]): JsonText | undefined {
  let node: AttributeTree | JsonText | undefined = tree;
  for (let index = 0; index < path.length; index++) {
    if (typeof node === "string") return leafAt(node, path.slice(index));
    node = node.get(path[index] ?? "");
    if (node === undefined) return undefined;
  }
  const json = nodeJson(node);
  return json === "null" ? undefined : json;
}

/** Attributes of what surrounds a span: where they conflict they stay flat, as that is no reason to lose the span. */
export function attributesJson(attributes: readonly Attribute[]): JsonText {
  if (attributes.length === 0) return "{}";
  try {
    return treeJson(attributeTree(attributes));
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    return treeJson(new Map(attributes.map(({ key, value }) => [key, unfolded(value)])));
  }
}

/** Needs no escapes. */
const plainKey = /^[\w-]*$/;

function nodeJson(node: AttributeTree | JsonText | undefined): JsonText {
  if (node === undefined) return "null";
  return typeof node === "string" ? node : treeJson(node);
}

function unfolded(value: AttributeValue): JsonText {
  if (typeof value !== "string") return value.json;
  return embeddedJson(value) ?? valueJson(value);
}

function embeddedJson(text: string): JsonText | undefined {
  if (!text.startsWith("{") && !text.startsWith("[")) return undefined;
  if (isJson(text)) return exceedsNesting(text, maxValueNesting) ? undefined : text;
  // Python prints NaN and infinities bare; without them the text may be JSON after all.
  if (!text.includes("NaN") && !text.includes("Infinity")) return undefined;
  const closed = withoutBareNumbers(text);
  return closed === undefined || !isJson(closed) || exceedsNesting(closed, maxValueNesting) ? undefined : closed;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function withoutBareNumbers(text: string): string | undefined {
  try {
    const stored = storable(text);
    return readable(stored.text, stored.exact);
  } catch {
    return undefined;
  }
}

function conflict(key: string): InvalidInput {
  return new InvalidInput(
    `the attribute ${key} conflicts with another one: a key cannot hold both a value and further keys`,
  );
}
