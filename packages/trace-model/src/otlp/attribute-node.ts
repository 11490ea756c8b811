import type { JsonText } from "@heddle/exact-json";
import { textJson } from "./value-json.js";

/** Flat dotted keys unfolded: `a.b.0` becomes a list in `b` in `a`. A leaf is the index of a value. */
export type AttributeNode = number | AttributeBranch;

export interface AttributeBranch {
  children: Map<string, AttributeNode>;
  /** The value of the key itself, which cannot be an object or list of its children. */
  own?: number | undefined;
  template?: Template;
}

/** JSON text around values: a piece, the value of an index, a piece, … */
interface Template {
  pieces: string[];
  indexes: number[];
}

/** The JSON text of a node; keys 0, 1, … n make a list. Of a branch with a value of its own that value. */
export function nodeJson(node: AttributeNode, values: readonly JsonText[]): JsonText {
  if (typeof node === "number") return values[node] ?? "null";
  if (node.own !== undefined) return values[node.own] ?? "null";
  const { pieces, indexes } = (node.template ??= templateOf(node));
  let result = pieces[0] ?? "";
  for (let index = 0; index < indexes.length; index++) {
    result += (values[indexes[index] ?? 0] ?? "null") + (pieces[index + 1] ?? "");
  }
  return result;
}

export function isList({ children }: AttributeBranch): boolean {
  return (
    children.has("0") && [...children].every(([, node], index) => children.has(String(index)) && !hasOwnValue(node))
  );
}

/**
 * Whether the keys below a node stay dotted next to it, since it has a value of its own: `a` and `a.b` become members
 * `a` and `a.b`.
 */
export function hasOwnValue(node: AttributeNode): node is AttributeBranch & { own: number } {
  return typeof node === "object" && node.own !== undefined;
}

/** The members that a node of this name makes in the object that holds it. */
export function membersOf(name: string, node: AttributeNode): Array<[name: string, node: AttributeNode]> {
  if (!hasOwnValue(node)) return [[name, node]];
  const below = [...node.children].flatMap(([key, child]) => membersOf(`${name}.${key}`, child));
  return [[name, node.own], ...below];
}

function templateOf(branch: AttributeBranch): Template {
  const template: Template = { pieces: [""], indexes: [] };
  write(branch, template);
  return template;
}

function write(node: AttributeNode, template: Template): void {
  if (typeof node === "number") {
    template.indexes.push(node);
    template.pieces.push("");
    return;
  }
  const { children } = node;
  if (isList(node)) {
    for (let index = 0; index < children.size; index++) {
      text(index === 0 ? "[" : ",", template);
      write(children.get(String(index)) ?? 0, template);
    }
    text("]", template);
    return;
  }
  let separator = "{";
  for (const [name, child] of children) {
    for (const [member, value] of hasOwnValue(child) ? membersOf(name, child) : [[name, child] as const]) {
      text(`${separator}${textJson(member)}:`, template);
      write(value, template);
      separator = ",";
    }
  }
  text(separator === "{" ? "{}" : "}", template);
}

function text(piece: string, { pieces }: Template): void {
  pieces[pieces.length - 1] += piece;
}
