import { HeddleError } from "@heddle/errors";
import type { JsonText } from "../json/scan.js";
import type { PresentSource, Sources } from "./sources.js";
import { maxValueNesting } from "./value-json.js";

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

/** What follows from the keys of attributes. */
export interface AttributeLayout {
  root: AttributeBranch;
  /** Why the keys cannot be unfolded; the root then holds them as they are. */
  problem: string | undefined;
  /** Which of some sources can be there, so that each span looks at these only. */
  present: Map<Sources, PresentSource[]>;
}

export function layoutOf(keys: readonly string[]): AttributeLayout {
  try {
    return { root: unfoldedKeys(keys), problem: undefined, present: new Map() };
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    const root = { children: new Map(keys.map((key, place) => [key, place])) };
    return { root, problem: error.message, present: new Map() };
  }
}

/** Of a repeated key the last value counts. One key cannot be both a value and the parent of others. */
function unfoldedKeys(keys: readonly string[]): AttributeBranch {
  const root: AttributeBranch = { children: new Map() };
  for (const [place, key] of keys.entries()) {
    const segments = key.split(".");
    const last = segments.pop() ?? "";
    if (segments.length > maxValueNesting) throw new HeddleError("invalid", `the attribute ${key} is too deep`);
    let { children } = root;
    for (const segment of segments) {
      let next = children.get(segment);
      if (typeof next === "number") throw conflict(key);
      if (next === undefined) {
        next = { children: new Map() };
        children.set(segment, next);
      }
      children = next.children;
    }
    if (typeof children.get(last) === "object") throw conflict(key);
    children.set(last, place);
  }
  return root;
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

function conflict(key: string): HeddleError {
  return new HeddleError(
    "invalid",
    `the attribute ${key} conflicts with another one: a key cannot hold both a value and further keys`,
  );
}
