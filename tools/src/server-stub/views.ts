import type { Model } from "../model/model.js";
import { deref, typesOf } from "../model/openapi.js";
import type { OpenApi, Schema } from "../model/openapi.js";
import { at } from "../model/pointer.js";

/** Marks an `ItemError` in the request view. */
export const itemErrorKey = "x-heddle-item-error";

/**
 * The document as handlers see it in requests: nulls of optional properties are dropped, defaults are present, items of
 * lenient lists may be errors. Only what requests reach is left. `branches` are the objects whose defaults stay out.
 */
export function requestView(model: Model, branches: ReadonlySet<string>): OpenApi {
  const view = structuredClone(model.document);
  for (const [pointer, schema] of schemasOf(view)) {
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      if (schema["x-heddle-raw-json"]) break;
      if (schema.required?.includes(name)) continue;
      dropNull(property);
      const fallback = property.default ?? deref<Schema>(view, property, pointer).value.default;
      if (fallback !== undefined && fallback !== null && !branches.has(pointer)) {
        schema.required = [...(schema.required ?? []), name];
      }
    }
    if (schema["x-heddle-lenient-items"] && schema.items) {
      schema.items = { anyOf: [schema.items, { type: "string", [itemErrorKey]: true }] };
    }
  }
  typeFreeJson(view);
  for (const operation of operationsOf(view)) {
    operation["responses"] = {};
    for (const parameter of [operation["parameters"] ?? []].flat() as object[]) {
      const { value } = deref<{ required?: boolean; schema?: Schema }>(view, parameter, "");
      if (value.schema && "default" in value.schema) value.required = true;
    }
  }
  return prune(view);
}

/** The document as handlers see it in responses: unchanged, without what only requests reach. */
export function responseView(model: Model): OpenApi {
  const view = structuredClone(model.document);
  for (const operation of operationsOf(view)) {
    delete operation["requestBody"];
    delete operation["parameters"];
  }
  typeFreeJson(view);
  return prune(view);
}

/** The hook that names types is only asked about schemas that have a type. */
function typeFreeJson(view: OpenApi): void {
  for (const [, schema] of schemasOf(view)) {
    if (!schema["x-heddle-raw-json"]) continue;
    for (const key of Object.keys(schema)) if (!["description", "x-heddle-raw-json"].includes(key)) delete schema[key];
    schema.type = "string";
  }
}

function dropNull(schema: Schema): void {
  const types = typesOf(schema);
  const [type, ...more] = types.filter((name) => name !== "null");
  if (types.includes("null") && type !== undefined) schema.type = more.length > 0 ? [type, ...more] : type;
  if (schema.enum?.includes(null)) schema.enum = schema.enum.filter((value) => value !== null);
  for (const key of ["anyOf", "oneOf"] as const) {
    const rest = schema[key]?.filter((branch) => branch.type !== "null");
    if (rest !== undefined) schema[key] = rest;
  }
}

function* operationsOf(view: OpenApi): Generator<Record<string, unknown>> {
  for (const item of Object.values(view.paths)) {
    for (const value of Object.values(item)) {
      if (typeof value === "object" && value !== null && "operationId" in value) yield value;
    }
  }
}

/** Every schema below components and operations with its pointer. */
function* schemasOf(view: OpenApi): Generator<[string, Schema]> {
  yield* walk(view.paths, "/paths");
  yield* walk(view.components, "/components");
}

function* walk(value: unknown, pointer: string): Generator<[string, Schema]> {
  if (typeof value !== "object" || value === null) return;
  if (["type", "properties", "items", "x-heddle-raw-json"].some((key) => key in value))
    yield [pointer, value as Schema];
  for (const [key, child] of Object.entries(value)) {
    if (!dataKeywords.has(key)) yield* walk(child, at(pointer, key));
  }
}

/** Keywords whose value is data, not a schema. */
const dataKeywords = new Set(["example", "examples", "default", "enum", "const"]);

/** Leaves out the components that nothing in `paths` leads to. */
function prune(view: OpenApi): OpenApi {
  const { schemas: _, ...others } = view.components ?? {};
  dropExamples([view.paths, others]);
  const used = new Set<string>();
  const follow = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, child] of Object.entries(value)) {
      if (key === "$ref" && typeof child === "string" && !used.has(child)) {
        used.add(child);
        follow(deref(view, { $ref: child }, "").value);
      } else if (!dataKeywords.has(key)) follow(child);
    }
  };
  follow(view.paths);
  const components = Object.fromEntries(
    Object.entries(view.components ?? {}).map(([kind, entries]) => [
      kind,
      Object.fromEntries(
        Object.entries(entries as object).filter(([name]) => used.has(`#/components/${kind}/${name}`)),
      ),
    ]),
  );
  return { ...view, components: { ...components, examples: {}, securitySchemes: {} } };
}

/** Examples of media types and parameters are data and need no types. */
function dropExamples(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const record = value as Record<string, unknown>;
  if ("schema" in record) delete record["examples"];
  for (const [key, child] of Object.entries(record)) if (key !== "schema") dropExamples(child);
}
