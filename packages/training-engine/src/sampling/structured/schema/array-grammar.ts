import { literal } from "../ebnf.js";
import { invalidSchema, type Place, pointerTo, type SchemaObject } from "./keywords.js";
import { count, type SchemaContext } from "./schema-grammar.js";

const maxItems = 10_000;

/** Arrays: all items of `prefixItems` (as far as `maxItems` goes), then as many of `items` as the counts allow. */
export function arrayBody(place: Place<SchemaObject>, depth: number, context: SchemaContext): string {
  const { schema, pointer } = place;
  const { json } = context;
  if (schema.uniqueItems === true)
    throw invalidSchema(pointerTo(pointer, "uniqueItems"), "uniqueItems is not supported");
  const least = count(schema, "minItems", pointer, maxItems) ?? 0;
  const most = count(schema, "maxItems", pointer, maxItems);
  if (most !== undefined && most < least)
    throw invalidSchema(pointerTo(pointer, "maxItems"), "maxItems is below minItems");
  const prefix = prefixRules(place, depth, context).slice(0, most);
  const item = itemSchema(place, prefix.length > 0);
  if (!item && prefix.length < least) {
    throw invalidSchema(pointerTo(pointer, "minItems"), `only ${prefix.length} items are described`);
  }
  const space = json.space;
  const close = `${space} ${literal("]")}`;
  const open = `${literal("[")} ${space}`;
  const comma = json.comma;
  const listed = prefix.join(` ${comma} `);
  const room = most === undefined ? undefined : most - prefix.length;
  if (!item || room === 0) return prefix.length === 0 ? `${open} ${literal("]")}` : `${open} ${listed} ${close}`;
  const rule = context.rule(item, depth + 1);
  const needed = Math.max(0, least - prefix.length);
  if (prefix.length > 0) return `${open} ${listed} ${times(`(${comma} ${rule})`, needed, room)} ${close}`;
  const rest = times(`(${comma} ${rule})`, Math.max(0, needed - 1), room === undefined ? undefined : room - 1);
  const items = `${rule} ${rest} ${space}`;
  return `${open} ${needed === 0 ? `(${items})?` : items} ${literal("]")}`;
}

function times(unit: string, least: number, most: number | undefined): string {
  if (most === 0) return '""';
  if (most === undefined) return least === 0 ? `${unit}*` : `${unit}{${least},}`;
  return `${unit}{${least},${most}}`;
}

function prefixRules({ schema, pointer }: Place<SchemaObject>, depth: number, context: SchemaContext): string[] {
  if (!("prefixItems" in schema)) return [];
  const at = pointerTo(pointer, "prefixItems");
  if (!Array.isArray(schema.prefixItems)) throw invalidSchema(at, "prefixItems must be a list of schemas");
  return schema.prefixItems.map((item: unknown, index) =>
    context.rule({ schema: item, pointer: pointerTo(at, index) }, depth + 1),
  );
}

/** The schema of the other items: the one given, or any when the schema describes none at all. */
function itemSchema({ schema, pointer }: Place<SchemaObject>, hasPrefix: boolean): Place | undefined {
  const keyword = "items" in schema ? "items" : "unevaluatedItems";
  const at = pointerTo(pointer, keyword);
  if (!(keyword in schema)) return hasPrefix ? undefined : { schema: true, pointer: at };
  const item = schema[keyword];
  if (Array.isArray(item)) throw invalidSchema(at, "a list of item schemas is written as prefixItems");
  return item === false ? undefined : { schema: item, pointer: at };
}
