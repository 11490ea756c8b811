import type { Model, Operation } from "../model/model.js";
import { deref } from "../model/openapi.js";
import type { Schema } from "../model/openapi.js";
import { UnsupportedSpecError } from "../model/unsupported-spec-error.js";

type Json = Record<string, unknown>;

/** The operations that an agent may be given, as tools: those that only read, and hand out no secret. */
export function toolsOf(models: readonly Model[]): Json[] {
  return models.flatMap((model) =>
    model.operations.filter(isTool).map((operation) => ({
      name: operation.id,
      interface: model.interface,
      group: operation.tag,
      title: operation.summary,
      description: `${operation.summary}. ${operation.description}`.trim(),
      ...(operation.success.contents.some(({ kind }) => kind === "bytes") && { bytes: true }),
      inputSchema: inputOf(model, operation),
    })),
  );
}

function isTool({ access, method, secret, public: isPublic, success, deprecated }: Operation): boolean {
  if (deprecated || secret || method === "delete") return false;
  // Of what needs no key, whatever has bytes is addressed by a token.
  if (isPublic) return method === "get" && success.contents.every(({ kind }) => kind === "json");
  return access?.right === "read";
}

/** Hosts of agents refuse the whole list for a tool whose members are named otherwise. */
const memberName = /^[a-zA-Z0-9_.-]{1,64}$/;

/** One object of parameters and members of the body, as the methods of the client take it. */
function inputOf({ document }: Model, { params, body, pointer }: Operation): Json {
  const names = new Set<string>();
  const properties: Json = {};
  for (const { name, description, schema, default: fallback } of params)
    properties[name] = {
      ...documented(schema, names),
      ...(description !== "" && { description }),
      ...(fallback !== undefined && { default: fallback }),
    };
  const required = params.filter((each) => each.required).map(({ name }) => name);
  if (body) {
    const schema = deref<Schema>(document, body.schema ?? {}, body.pointer).value;
    if (body.kind !== "json" || schema.properties === undefined || schema.allOf || schema.anyOf || schema.oneOf)
      throw new UnsupportedSpecError(pointer, "the body of an operation that reads is a JSON object with properties");
    for (const [name, member] of Object.entries(schema.properties)) properties[name] = documented(member, names);
    required.push(...(schema.required ?? []));
  }
  const odd = Object.keys(properties).find((name) => !memberName.test(name));
  if (odd !== undefined)
    throw new UnsupportedSpecError(pointer, `"${odd}" cannot be the name of an argument of a tool`);
  const definitions: Json = {};
  // Each definition may name further ones.
  for (const name of names) definitions[name] = documented(document.components?.schemas?.[name] ?? {}, names);
  return {
    type: "object",
    properties,
    required,
    additionalProperties: false,
    ...(names.size > 0 && { $defs: definitions }),
  };
}

const kept = new Set(
  `type enum const description default format required pattern minLength maxLength minimum maximum exclusiveMinimum
  exclusiveMaximum multipleOf minItems maxItems uniqueItems minProperties maxProperties unevaluatedProperties`.split(
    /\s+/,
  ),
);

/** What a value means comes first; limits and prices follow, which the errors of requests beyond them state again. */
const brief = (description: string): string =>
  description
    .trim()
    .split(/\n{2,}/)
    .slice(0, 2)
    .join("\n\n");

/** The schema as an agent needs it: with descriptions, without extensions. What it refers to is added to `names`. */
function documented(schema: Schema, names: Set<string>): Schema {
  const each = (entries: Record<string, Schema>) =>
    Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, documented(value, names)]));
  const result: Schema = {};
  for (const [key, value] of Object.entries(schema)) if (kept.has(key)) result[key] = value;
  if (schema.description !== undefined) result.description = brief(schema.description);
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
    names.add(name);
    result.$ref = `#/$defs/${name}`;
  }
  if (schema["x-heddle-raw-json"]) return result;
  if (schema.properties) result.properties = each(schema.properties);
  const { additionalProperties: others } = schema;
  if (others !== undefined)
    result.additionalProperties = typeof others === "object" ? documented(others, names) : others;
  if (schema.items) result.items = documented(schema.items, names);
  for (const key of ["prefixItems", "allOf", "anyOf", "oneOf"] as const)
    if (schema[key]) result[key] = schema[key].map((part) => documented(part, names));
  return result;
}
