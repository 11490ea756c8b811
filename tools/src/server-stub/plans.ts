import { deref, typesOf } from "../model/openapi.js";
import type { OpenApi, Schema } from "../model/openapi.js";
import { noPlan, toOthers } from "./plan-table.js";
import type { PlanEntry } from "./plan-table.js";
import { at } from "../model/pointer.js";
import { UnsupportedSpecError } from "../model/unsupported-spec-error.js";

interface Located {
  schema: Schema;
  pointer: string;
}

/** One shape that a value may have: all of these schemas together. */
type Shape = Located[];

/**
 * Derives from request schemas how their bodies are read: what is kept as text, which nulls are dropped, which defaults
 * are filled in. A choice between objects is read by one merged plan, because the reader sees keys in the order they
 * were sent.
 */
export class Plans {
  readonly entries: PlanEntry[] = [];
  /** Item schemas of lenient lists by the name of their validator. */
  readonly lenient = new Map<string, Schema>();
  /** Objects that are one of several shapes: their own defaults are documentation and not applied. */
  readonly branches = new Set<string>();
  readonly #known = new Map<string, number>();
  readonly #document: OpenApi;

  constructor(document: OpenApi) {
    this.#document = document;
  }

  /** Index of the plan for a schema, or -1; `compact` gives its final index. */
  planOf(schema: Schema, pointer: string): number {
    return this.#merge([{ schema, pointer }]);
  }

  #merge(choices: Located[]): number {
    const resolved = choices.map(({ schema, pointer }) => this.#resolve(schema, pointer));
    const key = [...new Set(resolved.map(({ pointer }) => pointer))].toSorted().join(" | ");
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const shapes = distinct(resolved).flatMap((choice) => this.#shapes(choice));
    const raw = shapes.filter((shape) => shape.some(isRaw));
    if (raw.length > 0) return this.#rawPlan(key, raw, shapes);
    const structured = shapes.filter((shape) => shape.some(({ schema }) => isStructured(schema)));
    if (structured.length === 0) {
      const exact = shapes.flat().some(({ schema }) => schema["x-heddle-exact-integers"] === true);
      return this.#remember(key, exact ? this.entries.push({ exactIntegers: true }) - 1 : noPlan);
    }
    const free = shapes.find((shape) => shape.every(({ schema }) => isAnything(schema)));
    if (free)
      throw new UnsupportedSpecError(free[0]?.pointer ?? "", "a choice between anything and a shape cannot be read");
    // The index is taken before the children are read, since they may lead back here.
    const entry: PlanEntry = {};
    this.#known.set(key, this.entries.push(entry) - 1);
    this.#describe(entry, structured);
    return this.#known.get(key) ?? noPlan;
  }

  #remember(key: string, plan: number): number {
    this.#known.set(key, plan);
    return plan;
  }

  #rawPlan(key: string, raw: Shape[], shapes: Shape[]): number {
    const other = shapes.find((shape) => !raw.includes(shape) && !isNull(shape));
    if (other)
      throw new UnsupportedSpecError(
        other[0]?.pointer ?? "",
        "a choice between free JSON and something else cannot be read",
      );
    const lists = raw.map((shape) => shape.flatMap(({ schema }) => typesOf(schema)));
    const types = lists.some((list) => list.length === 0) ? [] : [...new Set(lists.flat())];
    if (types.length > 0 && shapes.some(isNull)) types.push("null");
    return this.#remember(key, this.entries.push({ raw: types }) - 1);
  }

  #describe(entry: PlanEntry, shapes: Shape[]): void {
    const parts = distinct(shapes.flat());
    const objects = shapes.filter((shape) => shape.some(({ schema }) => isObject(schema)));
    if (objects.length > 1) for (const { pointer } of objects.flat()) this.branches.add(pointer);
    const required = new Set(parts.flatMap(({ schema }) => schema.required ?? []));
    const names = [...new Set(parts.flatMap(({ schema }) => Object.keys(schema.properties ?? {})))];
    if (names.length > 0) {
      const choices = (name: string) =>
        parts.flatMap(({ schema, pointer }) => {
          const property = schema.properties?.[name];
          return property === undefined ? [] : [{ schema: property, pointer: at(pointer, "properties", name) }];
        });
      entry.properties = Object.fromEntries(names.map((name) => [name, this.#merge(choices(name))]));
      // A null of untyped free JSON is a value.
      const kept = names.filter(
        (name) => required.has(name) || this.entries[entry.properties?.[name] ?? noPlan]?.raw?.length === 0,
      );
      if (kept.length > 0) entry.keepNull = kept;
    }
    const defaults = parts.flatMap(({ schema }) =>
      Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
        const { schema: target } = this.#resolve(property, "");
        const value = property.default ?? target.default;
        return value === undefined || value === null ? [] : [[name, value] as const];
      }),
    );
    if (objects.length === 1 && defaults.length > 0) entry.defaults = Object.fromEntries(defaults);
    if (objects.length > 0) entry.others = this.#others(objects);
    this.#describeList(entry, parts);
  }

  #describeList(entry: PlanEntry, parts: Located[]): void {
    const items = parts.flatMap(({ schema, pointer }) =>
      schema.items === undefined ? [] : [{ schema: schema.items, pointer: at(pointer, "items") }],
    );
    if (items.length > 0) entry.items = this.#merge(items);
    const tuples = parts.filter(({ schema }) => schema.prefixItems !== undefined);
    const [tuple, second] = tuples;
    if (second)
      throw new UnsupportedSpecError(second.pointer, "a choice between two lists with prefixItems cannot be read");
    if (tuple) {
      entry.prefix = (tuple.schema.prefixItems ?? []).map((schema, index) =>
        this.#merge([{ schema, pointer: at(tuple.pointer, "prefixItems", index) }]),
      );
    }
    const limited = parts.find(({ schema }) => schema["x-heddle-max-items"] !== undefined);
    if (limited === undefined) return;
    const { schema, pointer } = limited;
    if (items.length !== 1)
      throw new UnsupportedSpecError(pointer, "a list with x-heddle-max-items cannot be one of several lists");
    entry.maxItems = schema["x-heddle-max-items"];
    // Lenient lists are always limited.
    if (!schema["x-heddle-lenient-items"]) return;
    entry.lenient = lenientName(pointer);
    this.lenient.set(entry.lenient, schema.items ?? {});
  }

  #others(objects: Shape[]): "drop" | "keep" | "refuse" | number {
    const parts = objects.flat().filter(({ schema }) => isObject(schema));
    const values = parts.flatMap(({ schema, pointer }) =>
      typeof schema.additionalProperties === "object"
        ? [{ schema: schema.additionalProperties, pointer: at(pointer, "additionalProperties") }]
        : [],
    );
    if (values.length > 0) {
      return toOthers(this.#merge(values));
    }
    if (parts.some(({ schema }) => schema.unevaluatedProperties === false)) return "refuse";
    if (parts.every(({ schema }) => schema.additionalProperties === false)) return "refuse";
    const keeps = parts.some(
      ({ schema }) => schema.additionalProperties !== undefined || schema.properties === undefined,
    );
    return keeps ? "keep" : "drop";
  }

  /** The shapes of a schema: `allOf` joins, `anyOf` and `oneOf` choose. */
  #shapes({ schema, pointer }: Located): Shape[] {
    const hasRules = isRaw({ schema, pointer }) || isStructured(schema) || !compositions.some((key) => key in schema);
    let shapes: Shape[] = [hasRules ? [{ schema, pointer }] : []];
    if (schema["x-heddle-raw-json"]) return shapes;
    for (const key of compositions) {
      const lists = (schema[key] ?? []).map((part, index) =>
        this.#shapes(this.#resolve(part, at(pointer, key, index))),
      );
      if (lists.length === 0) continue;
      const steps = key === "allOf" ? lists : [lists.flat()];
      for (const step of steps) shapes = shapes.flatMap((shape) => step.map((part) => [...shape, ...part]));
    }
    return shapes;
  }

  #resolve(schema: Schema, pointer: string): Located {
    // Flags may be next to a $ref.
    if (schema["x-heddle-raw-json"]) return { schema, pointer };
    const target = deref<Schema>(this.#document, schema, pointer);
    return { schema: target.value, pointer: target.pointer };
  }
}

const compositions = ["allOf", "anyOf", "oneOf"] as const;

/** `/components/schemas/CallCreateBatchReq/properties/batch` → `CallCreateBatchReq_batch_item` */
function lenientName(pointer: string): string {
  const words = pointer.split("/").filter((word) => !["", "components", "schemas", "properties"].includes(word));
  return `${words.join("_").replaceAll(/\W/g, "_")}_item`;
}

function distinct(list: Located[]): Located[] {
  return [...new Map(list.map((located) => [located.pointer, located])).values()];
}

function isRaw({ schema }: Located): boolean {
  return schema["x-heddle-raw-json"] === true;
}

function isNull(shape: Shape): boolean {
  return shape.some(({ schema }) => typesOf(schema).join() === "null");
}

function isObject(schema: Schema): boolean {
  return (
    schema.properties !== undefined || schema.additionalProperties !== undefined || typesOf(schema).includes("object")
  );
}

function isStructured(schema: Schema): boolean {
  return isObject(schema) || schema.items !== undefined || schema.prefixItems !== undefined;
}

function isAnything(schema: Schema): boolean {
  const rules = ["type", "enum", "const", ...compositions];
  return !isStructured(schema) && !rules.some((rule) => rule in schema);
}
