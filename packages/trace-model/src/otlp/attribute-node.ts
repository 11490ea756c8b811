import type { JsonText } from "../json/scan.js";

/** Flat dotted keys unfolded: `a.b.0` becomes a list in `b` in `a`. What has no further keys is the place of a value. */
export type AttributeNode = number | AttributeBranch;

export interface AttributeBranch {
  children: Map<string, AttributeNode>;
  template?: Template;
}

/** JSON text around values: a piece, the value of a place, a piece, … */
interface Template {
  pieces: string[];
  places: number[];
}

/** The JSON text of a node; keys 0, 1, … n make a list. */
export function nodeJson(node: AttributeNode, values: readonly JsonText[]): JsonText {
  if (typeof node === "number") return values[node] ?? "null";
  const { pieces, places } = (node.template ??= templateOf(node));
  let result = pieces[0] ?? "";
  for (let index = 0; index < places.length; index++) {
    result += (values[places[index] ?? 0] ?? "null") + (pieces[index + 1] ?? "");
  }
  return result;
}

export function isList({ children }: AttributeBranch): boolean {
  return children.has("0") && [...children.keys()].every((_, index) => children.has(String(index)));
}

function templateOf(branch: AttributeBranch): Template {
  const template: Template = { pieces: [""], places: [] };
  write(branch, template);
  return template;
}

function write(node: AttributeNode, template: Template): void {
  if (typeof node === "number") {
    template.places.push(node);
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
