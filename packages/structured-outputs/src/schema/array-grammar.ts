import { literal } from "../ebnf.js";
import type { Conjunction, Parts } from "./conjunction.js";
import { having } from "./conjunction.js";
import type { GrammarContext } from "./grammar-context.js";
import type { SchemaLocation, SchemaObject } from "./keywords.js";
import { countKeyword, invalidSchema, pointerTo } from "./keywords.js";
import { uniqueBody } from "./unique-items.js";

const maxItems = 10_000;

/** Writes arrays: the items of `prefixItems` up to `maxItems`, then as many of `items` as the counts allow. */
export function arrayBody(parts: Parts, depth: number, context: GrammarContext): string {
  const { json } = context;
  const { minItems, maxCount } = countsOf(parts);
  const { prefix, item } = itemsOf(parts);
  const fixed = prefix.slice(0, maxCount);
  if (!item && fixed.length < minItems) {
    const at = pointerTo(having(parts, "minItems")[0]?.pointer ?? "#", "minItems");
    throw invalidSchema(at, `minItems is above the ${fixed.length} declared items`);
  }
  const unique = parts.find(({ schema }) => schema.uniqueItems === true);
  const most = item ? (maxCount ?? Number.POSITIVE_INFINITY) : fixed.length;
  if (unique && most > 1) return uniqueBody({ unique, prefix: fixed, item, minItems, most }, context);
  const rules = fixed.map((each) => context.rule(each, depth + 1));
  const space = json.space;
  const close = `${space} ${literal("]")}`;
  const open = `${literal("[")} ${space}`;
  const comma = json.comma;
  const prefixList = rules.join(` ${comma} `);
  const remaining = maxCount === undefined ? undefined : maxCount - rules.length;
  if (!item || remaining === 0)
    return rules.length === 0 ? `${open} ${literal("]")}` : `${open} ${prefixList} ${close}`;
  const rule = context.rule(item, depth + 1);
  const needed = Math.max(0, minItems - rules.length);
  if (rules.length > 0) return `${open} ${prefixList} ${repeated(`(${comma} ${rule})`, needed, remaining)} ${close}`;
  const rest = repeated(
    `(${comma} ${rule})`,
    Math.max(0, needed - 1),
    remaining === undefined ? undefined : remaining - 1,
  );
  const items = `${rule} ${rest} ${space}`;
  return `${open} ${needed === 0 ? `(${items})?` : items} ${literal("]")}`;
}

function countsOf(parts: Parts): { minItems: number; maxCount: number | undefined } {
  let minItems = 0;
  let maxCount: number | undefined;
  for (const { schema, pointer } of parts) {
    const most = countKeyword(schema, "maxItems", pointer, maxItems);
    minItems = Math.max(minItems, countKeyword(schema, "minItems", pointer, maxItems) ?? 0);
    if (most !== undefined) maxCount = Math.min(maxCount ?? most, most);
  }
  if (maxCount !== undefined && maxCount < minItems) {
    const at = pointerTo(having(parts, "maxItems")[0]?.pointer ?? "#", "maxItems");
    throw invalidSchema(at, "maxItems is below minItems");
  }
  return { minItems, maxCount };
}

function repeated(unit: string, minItems: number, maxCount: number | undefined): string {
  if (maxCount === 0) return '""';
  if (maxCount === undefined) return minItems === 0 ? `${unit}*` : `${unit}{${minItems},}`;
  return `${unit}{${minItems},${maxCount}}`;
}

/** Returns what each declared item and, if there may be others, what these have to satisfy. */
function itemsOf(parts: Parts): { prefix: Conjunction[]; item: Conjunction | undefined } {
  const declared = parts.map((part) => ({ prefix: prefixOf(part), item: itemSchema(part, parts.length) }));
  const longest = Math.max(0, ...declared.map(({ prefix }) => prefix.length));
  const all = Array.from({ length: longest }, (_, index) =>
    declared.flatMap(({ prefix, item }) => prefix[index] ?? item ?? []),
  );
  const closed = all.findIndex((each) => each.some(({ schema }) => schema === false));
  const others = declared.flatMap(({ item }) => item ?? []);
  const isOpen = closed < 0 && others.every(({ schema }) => schema !== false) && (others.length > 0 || longest === 0);
  return {
    prefix: closed < 0 ? all : all.slice(0, closed),
    item: isOpen ? others : undefined,
  };
}

function prefixOf({ schema, pointer }: SchemaLocation<SchemaObject>): SchemaLocation[] {
  if (!("prefixItems" in schema)) return [];
  const at = pointerTo(pointer, "prefixItems");
  if (!Array.isArray(schema.prefixItems)) throw invalidSchema(at, "prefixItems must be a list of schemas");
  return schema.prefixItems.map((item: unknown, index) => ({ schema: item, pointer: pointerTo(at, index) }));
}

/** Returns the schema of the items after the declared ones, undefined if the schema has none. */
function itemSchema({ schema, pointer }: SchemaLocation<SchemaObject>, parts: number): SchemaLocation | undefined {
  const keyword = "items" in schema ? "items" : "unevaluatedItems";
  if (!(keyword in schema)) return undefined;
  const at = pointerTo(pointer, keyword);
  const item = schema[keyword];
  if (keyword === "unevaluatedItems" && parts > 1)
    throw invalidSchema(at, "unevaluatedItems together with other schemas is not supported");
  if (Array.isArray(item)) throw invalidSchema(at, "a list of item schemas is written as prefixItems");
  return { schema: item, pointer: at };
}
