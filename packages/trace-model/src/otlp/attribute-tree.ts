import { arrayItems, exceedsNesting, isJson, readable, storable, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { findRefs } from "../refs/find.js";
import { nodeJson } from "./attribute-node.js";
import type { AttributeLayout } from "./attribute-layout.js";
import { resolveOverlaps } from "./overlapping-keys.js";
import type { Attributes } from "./traces.js";
import { maxValueNesting, valueJson } from "./value-json.js";
import type { AttributeValue } from "./value-json.js";

/** Attributes unfolded: `values` are the JSON texts for the leaves of the layout. */
export interface AttributeTree {
  layout: AttributeLayout;
  values: readonly JsonText[];
  /**
   * As for the parts of a call: `storable` returns the values unchanged, and none is or has a ref. Lone surrogates in
   * the texts are not considered; `wellFormed` of the request covers them.
   */
  storableAsIs: boolean;
}

/** A text that holds a JSON object or list becomes that value, written as it was; so do those of a list. */
export function attributeTree({ shape, values }: Attributes): AttributeTree {
  const tree = { layout: shape.layout, values: [] as JsonText[], storableAsIs: true };
  for (const value of values) {
    const embedded = typeof value === "string" ? embeddedJson(value) : embeddedItems(value.json);
    const json = embedded ?? valueJson(value);
    tree.values.push(json);
    tree.storableAsIs &&= embedded === undefined ? isValueStorableAsIs(value) : isStorableAsIs(embedded);
  }
  const { layout } = tree;
  if (layout.overlaps) tree.layout = { ...layout, root: resolveOverlaps(layout.root, tree.values), present: new Map() };
  return tree;
}

export function treeJson({ layout, values }: AttributeTree): JsonText {
  return nodeJson(layout.root, values);
}

/** A shorter text is neither a ref nor a number too large for the store; an object may repeat a key. */
const shortest = 19;

/** Whether the value is storable as it is, provided that no text in it has lone surrogates. */
function isValueStorableAsIs(value: AttributeValue): boolean {
  if (typeof value === "string") return !value.startsWith("weave:");
  return (value.json.length < shortest && !value.json.includes("{")) || isStorableAsIs(value.json);
}

export function isStorableAsIs(json: JsonText): boolean {
  return storable(json).text === json && findRefs(json).length === 0;
}

/** The list with the values of its texts when all that begin like an object or list are one, so that few are read in vain. */
function embeddedItems(json: JsonText): JsonText | undefined {
  if (!json.startsWith("[") || !mayHaveEmbeddedItem.test(json)) return undefined;
  const items = arrayItems(json);
  for (const [index, item] of items.entries()) {
    const text = item.startsWith('"{') || item.startsWith('"[') ? stringValue(item) : undefined;
    if (text === undefined) continue;
    const embedded = embeddedJson(text, maxValueNesting - 1);
    if (embedded === undefined) return undefined;
    items[index] = embedded;
  }
  return `[${items.join(",")}]`;
}

const mayHaveEmbeddedItem = /[[,]"[{[]/;

function embeddedJson(text: string, maxNesting = maxValueNesting): JsonText | undefined {
  if (!text.startsWith("{") && !text.startsWith("[")) return undefined;
  if (isJson(text)) return exceedsNesting(text, maxNesting) ? undefined : text;
  // Python prints NaN and infinities bare; without them the text may be JSON after all.
  if (!text.includes("NaN") && !text.includes("Infinity")) return undefined;
  const closed = withoutBareNumbers(text);
  return closed === undefined || !isJson(closed) || exceedsNesting(closed, maxNesting) ? undefined : closed;
}

function withoutBareNumbers(text: string): string | undefined {
  try {
    const stored = storable(text);
    return readable(stored.text, stored.exact);
  } catch {
    return undefined;
  }
}
