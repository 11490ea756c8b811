import { literal } from "../ebnf.js";
import type { Conjunction } from "./conjunction.js";
import type { GrammarContext } from "./grammar-context.js";
import type { SchemaLocation } from "./keywords.js";
import { invalidSchema, pointerTo } from "./keywords.js";

/** So many values are written in any order, more only in the order of their list. */
const maxInAnyOrder = 7;
const maxValues = 64;

interface UniqueItems {
  /** The schema that asks for different items. */
  unique: SchemaLocation;
  prefix: readonly Conjunction[];
  item: Conjunction | undefined;
  minItems: number;
  most: number;
}

/** Writes arrays of different items, which is possible where the values are listed. */
export function uniqueBody(items: UniqueItems, context: GrammarContext): string {
  const { builder, json } = context;
  const { unique, prefix, item, minItems, most } = items;
  const at = pointerTo(unique.pointer, "uniqueItems");
  const values = item && prefix.length === 0 ? context.valuesOf(item) : undefined;
  if (!values || values.length > maxValues)
    throw invalidSchema(at, `uniqueItems is supported for at most ${maxValues} listed values, or one item`);
  if (minItems > values.length) throw invalidSchema(at, `there are not ${minItems} different values`);
  const anyOrder = values.length <= maxInAnyOrder;
  const names = new Map<string, string>();
  const open = `${literal("[")} ${json.space}`;
  return `${open} ${rest([...values.keys()], 0)} ${literal("]")}`;

  /** What follows `count` items, if those at `left` may be written. */
  function rest(left: readonly number[], count: number): string {
    const counted = most < (values?.length ?? 0) ? count : Math.min(count, Math.max(1, minItems));
    const key = `${left.join(" ")}/${counted}`;
    const known = names.get(key);
    if (known) return known;
    const options = (count < most ? left : []).flatMap((index, position) => {
      const others = anyOrder ? left.filter((each) => each !== index) : left.slice(position + 1);
      if (count + 1 + others.length < minItems) return [];
      return [`${count > 0 ? `${json.comma} ` : ""}${literal(values?.[index] ?? "")} ${rest(others, count + 1)}`];
    });
    if (count >= minItems) options.push(count > 0 ? json.space : '""');
    const name = builder.rule(options.join(" | "));
    names.set(key, name);
    return name;
  }
}
