import { withLoc } from "@heddle/errors";
import { parseCallField } from "@heddle/trace-model";
import type { CallField } from "@heddle/trace-model";

/** What calls are grouped by. */
export interface GroupKeys {
  /** Of each key: SQL of its text over the columns of calls, NULL where a call has none. */
  keys: GroupKey[];
  /** One of the keys is the model. */
  byModel: boolean;
}

type GroupKey = { column: string } | { field: CallField } | "model";

/** The path of a key into free JSON. */
export const pathOf = (key: GroupKey) =>
  typeof key === "object" && "field" in key && key.field.kind === "json" ? key.field : undefined;

/** Keys that are columns, or follow from some. */
const named: Readonly<Record<string, GroupKey>> = {
  op: { column: "nullIf(toString(op_key), '')" },
  status: { column: "toString(status)" },
  user: { field: parseCallField("wb_user_id") },
  kind: { field: parseCallField("summary.weave.kind") },
  model: "model",
};

/** Throws `unprocessable`, with the loc of the key, for what calls cannot be grouped by. */
export function parseGroupKeys(texts: readonly string[]): GroupKeys {
  const keys = texts.map((text, index): GroupKey => {
    const known = Object.hasOwn(named, text) ? named[text] : undefined;
    return known ?? { field: withLoc(["group_by", index], () => parseCallField(text)) };
  });
  return { keys, byModel: keys.includes("model") };
}

/** The most characters of a key: longer texts that begin alike are one group. */
export const keyCharacters = 500;

/** SQL of a key as a text of bounded length. */
export function keyText(value: string): string {
  return `leftUTF8(toString(${value}), ${keyCharacters})`;
}

/** SQL of what stands for a combination of keys: a number is compared faster than texts, and takes less memory. */
export function keyHash(columns: readonly string[]): string {
  return `sipHash64(${columns.map((column) => `isNull(${column}), ifNull(${column}, '')`).join(", ")})`;
}
