import { HeddleError } from "@heddle/errors";
import { forEachItem, forEachMember, jsonType, memberOf, stringValue, withMembers } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import type { CallField } from "@heddle/trace-model";
import type { StoredCall } from "../stored-calls/stored-call.js";

type JsonField = Extract<CallField, { kind: "json" }>;
type JsonColumn = JsonField["column"];

/** The paths below one location at which refs are replaced. */
export interface ExpandNode {
  /** Whether a ref at this location is replaced. */
  expand: boolean;
  children: Map<string, ExpandNode>;
}

/** A ref that is to be replaced, and what follows inside its value. */
export interface FoundRef {
  ref: string;
  node: ExpandNode;
}

interface RefPosition extends FoundRef {
  from: number;
  to: number;
}

/** One expanded column is written as one text. */
const maxLength = 64 * 1024 * 1024;

/** The paths of `expand_columns` by column. */
export function expandTrees(fields: readonly JsonField[]): Map<JsonColumn, ExpandNode> {
  const trees = new Map<JsonColumn, ExpandNode>();
  for (const { column, path } of fields) {
    let node = childOf(trees, column);
    for (const segment of path) node = childOf(node.children, segment);
    node.expand = true;
  }
  return trees;
}

function childOf<Key>(nodes: Map<Key, ExpandNode>, key: Key): ExpandNode {
  let node = nodes.get(key);
  if (node === undefined) {
    node = { expand: false, children: new Map() };
    nodes.set(key, node);
  }
  return node;
}

/** The refs in a call's columns that are to be replaced; those inside their values are not known yet. */
export function refsOfCall(call: StoredCall, trees: ReadonlyMap<JsonColumn, ExpandNode>): FoundRef[] {
  return [...trees].flatMap(([column, node]) => refsIn(call[column], node));
}

/** The refs in one document that are to be replaced, in order. */
export function refsIn(document: JsonText, node: ExpandNode): RefPosition[] {
  const found: RefPosition[] = [];
  visit(document, 0, node, found);
  return found.toSorted((a, b) => a.from - b.from);
}

/** Each location is read once, however many paths lead through it. */
function visit(text: JsonText, at: number, node: ExpandNode, found: RefPosition[]): void {
  if (node.expand && text.length < maxRefLength) {
    const ref = stringValue(text);
    if (ref?.startsWith("weave:///") === true) {
      found.push({ ref, node, from: at, to: at + text.length });
      return;
    }
  }
  if (node.children.size === 0) return;
  const positions = new Map<ExpandNode, { from: number; to: number }>();
  const note = (key: string, from: number, to: number) => {
    const child = node.children.get(key);
    // Of a repeated key the last value counts.
    if (child !== undefined) positions.set(child, { from, to });
  };
  if (jsonType(text) === "array") forEachItem(text, (index, from, to) => note(String(index), from, to));
  else forEachMember(text, note);
  for (const [child, { from, to }] of positions) visit(text.slice(from, to), at + from, child, found);
}

/** Names have at most 256 characters, and paths few steps. */
const maxRefLength = 65_536;

/**
 * Replaces refs by their values. A value that is an object gets the ref as its member `_ref`. What a ref leads to,
 * with the refs in it replaced, is made once.
 */
export class Expansion {
  readonly #trees: ReadonlyMap<JsonColumn, ExpandNode>;
  readonly #values: ReadonlyMap<string, JsonText>;
  readonly #expanded = new Map<ExpandNode, Map<string, JsonText>>();

  /** `values` by ref; a ref without one stays as it is. */
  constructor(trees: ReadonlyMap<JsonColumn, ExpandNode>, values: ReadonlyMap<string, JsonText>) {
    this.#trees = trees;
    this.#values = values;
  }

  apply(call: StoredCall): void {
    for (const [column, node] of this.#trees) call[column] = this.#expand(call[column], node);
  }

  #expand(document: JsonText, node: ExpandNode): JsonText {
    let result = "";
    let copied = 0;
    for (const { ref, node: inner, from, to } of refsIn(document, node)) {
      const value = this.#valueOf(ref, inner);
      if (value === undefined) continue;
      if (result.length + value.length > maxLength) {
        throw new HeddleError(
          "too_large",
          `one call has more than ${maxLength} characters once its refs are expanded`,
          {
            loc: ["expand_columns"],
          },
        );
      }
      result += document.slice(copied, from) + value;
      copied = to;
    }
    return copied === 0 ? document : result + document.slice(copied);
  }

  #valueOf(ref: string, node: ExpandNode): JsonText | undefined {
    const value = this.#values.get(ref);
    if (value === undefined) return undefined;
    const expanded = this.#expanded.get(node) ?? new Map<string, JsonText>();
    this.#expanded.set(node, expanded);
    let text = expanded.get(ref);
    if (text === undefined) {
      text = this.#expand(withRef(value, ref), node);
      expanded.set(ref, text);
    }
    return text;
  }
}

function withRef(value: JsonText, ref: string): JsonText {
  if (jsonType(value) !== "object" || memberOf(value, "_ref") !== undefined) return value;
  return withMembers(value, { _ref: JSON.stringify(ref) });
}
