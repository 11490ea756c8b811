import { literal } from "../ebnf.js";
import type { SchemaLocation, SchemaObject } from "./keywords.js";
import { countKeyword, invalidSchema, pointerTo } from "./keywords.js";
import type { GrammarContext } from "./grammar-context.js";

const maxItems = 10_000;

/** Writes arrays: the items of `prefixItems` up to `maxItems`, then as many of `items` as the counts allow. */
export function arrayBody(location: SchemaLocation<SchemaObject>, depth: number, context: GrammarContext): string {
  const { schema, pointer } = location;
  const { json } = context;
  if (schema.uniqueItems === true)
    throw invalidSchema(pointerTo(pointer, "uniqueItems"), "uniqueItems is not supported");
  const minItems = countKeyword(schema, "minItems", pointer, maxItems) ?? 0;
  const maxCount = countKeyword(schema, "maxItems", pointer, maxItems);
  if (maxCount !== undefined && maxCount < minItems)
    throw invalidSchema(pointerTo(pointer, "maxItems"), "maxItems is below minItems");
  const prefix = prefixRules(location, depth, context).slice(0, maxCount);
  const item = itemSchema(location, prefix.length > 0);
  if (!item && prefix.length < minItems) {
    throw invalidSchema(pointerTo(pointer, "minItems"), `minItems is above the ${prefix.length} declared items`);
  }
  const space = json.space;
  const close = `${space} ${literal("]")}`;
  const open = `${literal("[")} ${space}`;
  const comma = json.comma;
  const prefixList = prefix.join(` ${comma} `);
  const remaining = maxCount === undefined ? undefined : maxCount - prefix.length;
  if (!item || remaining === 0)
    return prefix.length === 0 ? `${open} ${literal("]")}` : `${open} ${prefixList} ${close}`;
  const rule = context.rule(item, depth + 1);
  const needed = Math.max(0, minItems - prefix.length);
  if (prefix.length > 0) return `${open} ${prefixList} ${repeated(`(${comma} ${rule})`, needed, remaining)} ${close}`;
  const rest = repeated(
    `(${comma} ${rule})`,
    Math.max(0, needed - 1),
    remaining === undefined ? undefined : remaining - 1,
  );
  const items = `${rule} ${rest} ${space}`;
  return `${open} ${needed === 0 ? `(${items})?` : items} ${literal("]")}`;
}

function repeated(unit: string, minItems: number, maxCount: number | undefined): string {
  if (maxCount === 0) return '""';
  if (maxCount === undefined) return minItems === 0 ? `${unit}*` : `${unit}{${minItems},}`;
  return `${unit}{${minItems},${maxCount}}`;
}

function prefixRules(
  { schema, pointer }: SchemaLocation<SchemaObject>,
  depth: number,
  context: GrammarContext,
): string[] {
  if (!("prefixItems" in schema)) return [];
  const at = pointerTo(pointer, "prefixItems");
  if (!Array.isArray(schema.prefixItems)) throw invalidSchema(at, "prefixItems must be a list of schemas");
  return schema.prefixItems.map((item: unknown, index) =>
    context.rule({ schema: item, pointer: pointerTo(at, index) }, depth + 1),
  );
}

/** Returns the schema of the other items: the given one, or any value if the schema declares no items. */
function itemSchema({ schema, pointer }: SchemaLocation<SchemaObject>, hasPrefix: boolean): SchemaLocation | undefined {
  const keyword = "items" in schema ? "items" : "unevaluatedItems";
  const at = pointerTo(pointer, keyword);
  if (!(keyword in schema)) return hasPrefix ? undefined : { schema: true, pointer: at };
  const item = schema[keyword];
  if (Array.isArray(item)) throw invalidSchema(at, "a list of item schemas is written as prefixItems");
  return item === false ? undefined : { schema: item, pointer: at };
}
