import type { JsonText } from "../json/scan.js";

/** Flat dotted keys unfolded: `a.b.0` becomes a list in `b` in `a`. A leaf is the index of a value. */
export type AttributeNode = number | AttributeBranch;

export interface AttributeBranch {
  children: Map<string, AttributeNode>;
  template?: Template;
}

/** JSON text around values: a piece, the value of an index, a piece, … */
interface Template {
  pieces: string[];
  indexes: number[];
}

/** The JSON text of a node; keys 0, 1, … n make a list. */
export function nodeJson(node: AttributeNode, values: readonly JsonText[]): JsonText {
  if (typeof node === "number") return values[node] ?? "null";
  const { pieces, indexes } = (node.template ??= templateOf(node));
  let result = pieces[0] ?? "";
  for (let index = 0; index < indexes.length; index++) {
    result += (values[indexes[index] ?? 0] ?? "null") + (pieces[index + 1] ?? "");
  }
  return result;
}

export function isList({ children }: AttributeBranch): boolean {
  return children.has("0") && [...children.keys()].every((_, index) => children.has(String(index)));
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
  const list = isList(node);
  const names = [...node.children.keys()].map((name, index) => (list ? String(index) : name));
  text(list ? "[" : "{", template);
  for (const [index, name] of names.entries()) {
    text((index === 0 ? "" : ",") + (list ? "" : `${JSON.stringify(name)}:`), template);
    write(node.children.get(name) ?? 0, template);
  }
  text(list ? "]" : "}", template);
}

function text(piece: string, { pieces }: Template): void {
  pieces.push((pieces.pop() ?? "") + piece);
}
