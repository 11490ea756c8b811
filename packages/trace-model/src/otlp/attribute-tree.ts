import { exceedsNesting } from "../json/nesting.js";
import type { JsonText } from "../json/scan.js";
import { readable, storable } from "../json/storable.js";
import { findRefs } from "../refs/find.js";
import { nodeJson } from "./attribute-node.js";
import type { AttributeLayout } from "./attribute-layout.js";
import type { Attributes } from "./traces.js";
import { maxValueNesting, valueJson } from "./value-json.js";
import type { AttributeValue } from "./value-json.js";

/** Attributes unfolded: `values` are the JSON texts for the places of the layout. */
export interface AttributeTree {
  layout: AttributeLayout;
  values: readonly JsonText[];
  /**
   * As for the parts of a call: `storable` would change nothing in the values, and none is a ref or holds one. It goes
   * without lone surrogates in the texts; whether there are any is told with the request.
   */
  plain: boolean;
}

/**
 * A text that holds a JSON object or list becomes that value, written as it was. Where keys conflict (see `problem` of
 * the layout) they stay flat.
 */
export function attributeTree({ shape, values }: Attributes): AttributeTree {
  const tree = { layout: shape.layout, values: [] as JsonText[], plain: true };
  for (const value of values) {
    const embedded = typeof value === "string" ? embeddedJson(value) : undefined;
    const json = embedded ?? valueJson(value);
    tree.values.push(json);
    tree.plain &&= embedded === undefined ? isPlainValue(value) : isPlain(embedded);
  }
  return tree;
}

export function treeJson({ layout, values }: AttributeTree): JsonText {
  return nodeJson(layout.root, values);
}

/** Nothing that is shorter is a ref, or a number too great for the store. */
const shortest = 19;

/** Whether it is plain, given that no text in it holds lone surrogates. */
function isPlainValue(value: AttributeValue): boolean {
  if (typeof value === "string") return !value.startsWith("weave:");
  return value.json.length < shortest || isPlain(value.json);
}

function isPlain(json: JsonText): boolean {
  return storable(json).text === json && findRefs(json).length === 0;
}

function embeddedJson(text: string): JsonText | undefined {
  if (!text.startsWith("{") && !text.startsWith("[")) return undefined;
  if (isJson(text)) return exceedsNesting(text, maxValueNesting) ? undefined : text;
  // Python prints NaN and infinities bare; without them the text may be JSON after all.
  if (!text.includes("NaN") && !text.includes("Infinity")) return undefined;
  const closed = withoutBareNumbers(text);
  return closed === undefined || !isJson(closed) || exceedsNesting(closed, maxValueNesting) ? undefined : closed;
}

export function isJson(text: string): boolean {
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
