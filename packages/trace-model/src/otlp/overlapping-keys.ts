import { forEachItem, forEachMember, jsonType } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { leafText } from "../query/leaf.js";
import { hasOwnValue, nodeJson } from "./attribute-node.js";
import type { AttributeBranch, AttributeNode } from "./attribute-node.js";

/**
 * Decides by the values what becomes of keys with a value and further keys below them; merged values are added to
 * `values`. A JSON object or list takes up the keys below it. One that contradicts them, or any other value, stays
 * under its own key (see `hasOwnValue`). Null is not a value.
 */
export function resolveOverlaps({ children }: AttributeBranch, values: JsonText[]): AttributeBranch {
  const resolved = new Map<string, AttributeNode>();
  for (const [key, child] of children)
    resolved.set(key, typeof child === "number" ? child : resolvedNode(child, values));
  return { children: resolved };
}

function resolvedNode(branch: AttributeBranch, values: JsonText[]): AttributeNode {
  const below = resolveOverlaps(branch, values);
  const { own } = branch;
  const json = own === undefined ? "null" : (values[own] ?? "null");
  if (json === "null") return below;
  const merged = mergedJson(json, below, values);
  return merged === undefined ? { ...below, own } : values.push(merged) - 1;
}

/** The text with the keys below it. Undefined where that would lose a value. */
function mergedJson(json: JsonText, branch: AttributeBranch, values: readonly JsonText[]): JsonText | undefined {
  const type = jsonType(json);
  if (type !== "object" && type !== "array") return undefined;
  const { children } = branch;
  const there = new Map<string, { from: number; to: number }>();
  let size = 0;
  let repeated = false;
  const visit = (key: string, from: number, to: number) => {
    size++;
    if (!children.has(key)) return;
    repeated ||= there.has(key);
    there.set(key, { from, to });
  };
  if (type === "object") forEachMember(json, visit);
  else forEachItem(json, (index, from, to) => visit(String(index), from, to));
  const added = type === "object" ? [...children.keys()].filter((key) => !there.has(key)) : itemsFrom(size, branch);
  if (repeated || there.size + added.length < children.size) return undefined;

  let result = "";
  let copied = 0;
  for (const [key, { from, to }] of there) {
    const value = replaced(json.slice(from, to), children.get(key) ?? 0, values);
    if (value === undefined) return undefined;
    result += json.slice(copied, from) + value;
    copied = to;
  }
  const end = json.lastIndexOf(type === "object" ? "}" : "]");
  result += json.slice(copied, end);
  for (const key of added) {
    const child = children.get(key) ?? 0;
    if (hasOwnValue(child)) return undefined;
    result +=
      (size++ === 0 ? "" : ",") + (type === "object" ? `${JSON.stringify(key)}:` : "") + nodeJson(child, values);
  }
  return result + json.slice(end);
}

function itemsFrom(first: number, { children }: AttributeBranch): string[] {
  const keys: string[] = [];
  while (children.has(String(first + keys.length))) keys.push(String(first + keys.length));
  return keys;
}

/** A value in a JSON text where a key leads to it as well. */
function replaced(json: JsonText, node: AttributeNode, values: readonly JsonText[]): JsonText | undefined {
  if (typeof node === "number") return isSame(json, values[node] ?? "null") ? json : undefined;
  return hasOwnValue(node) ? undefined : mergedJson(json, node, values);
}

function isSame(one: JsonText, other: JsonText): boolean {
  return one === other || (jsonType(one) === jsonType(other) && leafText(one) === leafText(other));
}
