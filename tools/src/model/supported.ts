import type { Operation } from "./model.js";
import { methods } from "./model.js";
import { componentName, deref, typesOf } from "./openapi.js";
import type { Limits, OpenApi, PathItem, Schema } from "./openapi.js";
import { at } from "./pointer.js";
import { UnsupportedSpecError } from "./unsupported-spec-error.js";

// What a document may contain. Everything that the generators would ignore is rejected here with its pointer.

const documentKeys = words("openapi info servers tags paths components security externalDocs");
const pathKeys = words("get put post delete patch parameters summary description");
const operationKeys = words(
  "operationId tags summary description deprecated externalDocs parameters requestBody responses security",
);
const knownExtensions = {
  document: words("x-heddle-interface x-heddle-max-body-bytes"),
  operation: words(
    `x-heddle-access x-heddle-aliases x-heddle-destructive x-heddle-error-object x-heddle-extension x-heddle-needs-provider
    x-heddle-raw-body x-heddle-secret x-heddle-share x-heddle-streamed-body x-heddle-max-body-bytes`,
  ),
  schema: words(
    `x-heddle-raw-json x-heddle-lenient-items x-heddle-max-items x-heddle-limits x-heddle-time x-heddle-exact-integers
    x-heddle-expected`,
  ),
};
const ruleKeywords = words(
  `$ref type enum const allOf anyOf oneOf properties required additionalProperties unevaluatedProperties minProperties maxProperties
  items prefixItems minItems maxItems uniqueItems minLength maxLength pattern
  minimum maximum exclusiveMinimum exclusiveMaximum multipleOf`,
);
const annotationKeywords = words(
  `title description example examples default deprecated readOnly writeOnly $comment
  externalDocs discriminator format contentMediaType contentEncoding`,
);
const schemaKeys = new Set([...ruleKeywords, ...annotationKeywords]);
const jsonTypes = words("string number integer boolean object array null");

function words(text: string): Set<string> {
  return new Set(text.split(/\s+/));
}

export function checkDocument(json: unknown): OpenApi {
  const document = json as OpenApi;
  if (typeof document?.openapi !== "string" || !document.openapi.startsWith("3.1.")) {
    throw new UnsupportedSpecError("/openapi", "the document has to be OpenAPI 3.1");
  }
  checkKeys(document, "", documentKeys, knownExtensions.document, "the document");
  if (!["tracing", "training"].includes(document["x-heddle-interface"] ?? "")) {
    throw new UnsupportedSpecError("/x-heddle-interface", 'x-heddle-interface has to be "tracing" or "training"');
  }
  for (const [name, scheme] of Object.entries(document.components?.securitySchemes ?? {})) {
    const known = scheme.type === "http" && ["basic", "bearer"].includes(scheme.scheme?.toLowerCase() ?? "");
    const header = scheme.type === "apiKey" && scheme.in === "header" && scheme.name?.toLowerCase() === "wandb-api-key";
    const isSession = scheme.type === "apiKey" && /heddle[-_]session$/i.test(scheme.name ?? "");
    if (!known && !header && !isSession) {
      throw new UnsupportedSpecError(
        at("/components/securitySchemes", name),
        "credentials are http basic, http bearer, the header wandb-api-key or the halves of a session",
      );
    }
  }
  return document;
}

export function checkPath(path: string, item: PathItem, pointer: string): void {
  routeOf(path, pointer);
  for (const key of Object.keys(item)) {
    if (!pathKeys.has(key)) throw new UnsupportedSpecError(at(pointer, key), `"${key}" is not supported on a path`);
  }
  for (const method of methods) {
    const operation = item[method];
    if (operation === undefined) continue;
    checkKeys(operation as object, at(pointer, method), operationKeys, knownExtensions.operation, "an operation");
  }
}

/** `/a/{b}` → `/a/{}`: the form in which the router distinguishes paths. */
export function routeOf(path: string, pointer: string): string {
  const segments = path.split("/").map((segment, at, all) => {
    if (/^\{[^{}*]+\}$/.test(segment)) return "{}";
    if (/^\{[^{}*]+\*\}$/.test(segment) && at === all.length - 1) return "{*}";
    if (/[{}]/.test(segment))
      throw new UnsupportedSpecError(pointer, `"${segment}": a parameter is a whole segment of the path`);
    return segment;
  });
  if (segments[0] !== "") throw new UnsupportedSpecError(pointer, "a path starts with /");
  return segments.join("/");
}

/** Rejects two operations with one id, and two that the router cannot distinguish. */
export function checkUnique(operations: Operation[]): void {
  const ids = new Map<string, Operation>();
  const routes = new Map<string, Operation>();
  for (const operation of operations) {
    const same = ids.get(operation.id);
    if (same)
      throw new UnsupportedSpecError(
        at(operation.pointer, "operationId"),
        `"${operation.id}" is at #${same.pointer} too`,
      );
    ids.set(operation.id, operation);
    for (const path of [operation.path, ...operation.aliases]) {
      const route = `${operation.method} ${routeOf(path, operation.pointer)}`;
      const other = routes.get(route);
      if (other)
        throw new UnsupportedSpecError(operation.pointer, `${route} cannot be distinguished from #${other.pointer}`);
      routes.set(route, operation);
    }
  }
}

/** Where a schema is used decides what it may contain. */
type Use = "json body" | "multipart body" | "parameter" | "response";

/** Every schema that operations reach, and every component, once per use. */
export function checkSchemas(document: OpenApi, operations: Operation[]): void {
  const seen = new Set<string>();
  const check = (schema: Schema, pointer: string, use: Use): void => {
    if (seen.has(`${use} ${pointer}`)) return;
    seen.add(`${use} ${pointer}`);
    checkSchema(schema, pointer, use);
    const target = deref<Schema>(document, schema.$ref === undefined ? schema : { $ref: schema.$ref }, pointer);
    if (schema.$ref !== undefined) check(target.value, target.pointer, use);
    if (schema["x-heddle-raw-json"]) return;
    for (const [child, childPointer] of children(schema, pointer)) check(child, childPointer, use);
  };
  for (const { params, body, responses } of operations) {
    for (const param of params) check(param.schema, at(param.pointer, "schema"), "parameter");
    if (body?.schema) check(body.schema, body.pointer, body.kind === "multipart" ? "multipart body" : "json body");
    for (const { schema, pointer, kind } of responses.flatMap(({ contents }) => contents)) {
      if (schema && kind !== "bytes") check(schema, pointer, "response");
    }
  }
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
    check(schema, at("/components/schemas", name), "response");
  }
}

function checkSchema(schema: Schema, pointer: string, use: Use): void {
  if (typeof schema !== "object" || schema === null)
    throw new UnsupportedSpecError(pointer, "a schema has to be an object");
  if ("nullable" in schema)
    throw new UnsupportedSpecError(at(pointer, "nullable"), 'write `type: [..., "null"]` (OpenAPI 3.1)');
  checkKeys(schema, pointer, schemaKeys, knownExtensions.schema, "a schema");
  for (const type of typesOf(schema)) {
    if (!jsonTypes.has(type)) throw new UnsupportedSpecError(at(pointer, "type"), `"${type}" is not a type of JSON`);
  }
  if (schema.$ref !== undefined && componentName(schema) === undefined) {
    throw new UnsupportedSpecError(at(pointer, "$ref"), "schemas are referred to by #/components/schemas/…");
  }
  if (schema.$ref !== undefined && Object.keys(schema).some((key) => key !== "$ref" && ruleKeywords.has(key))) {
    throw new UnsupportedSpecError(pointer, "only annotations are allowed next to $ref; use allOf");
  }
  if (schema["x-heddle-raw-json"]) checkRaw(schema, pointer, use);
  if (schema["x-heddle-lenient-items"]) {
    if (schema.items === undefined)
      throw new UnsupportedSpecError(pointer, "x-heddle-lenient-items needs an array with items");
    if (schema["x-heddle-max-items"] === undefined)
      throw new UnsupportedSpecError(pointer, "x-heddle-lenient-items needs x-heddle-max-items");
  }
  if (schema["x-heddle-max-items"] !== undefined) checkMaxItems(schema, schema["x-heddle-max-items"], pointer, use);
  if (schema["x-heddle-limits"] !== undefined)
    checkLimits(schema, schema["x-heddle-limits"], at(pointer, "x-heddle-limits"));
  if (schema.format === "binary" && use !== "multipart body") {
    throw new UnsupportedSpecError(at(pointer, "format"), "binary parts are allowed in multipart bodies only");
  }
}

/** The limit that the server keeps is the one that readers of the documentation see. */
function checkMaxItems(schema: Schema, limit: number, pointer: string, use: Use): void {
  const key = at(pointer, "x-heddle-max-items");
  if (!Number.isSafeInteger(limit) || limit < 1) throw new UnsupportedSpecError(key, "the limit has to be 1 or more");
  if (schema.items === undefined || use === "parameter" || use === "multipart body")
    throw new UnsupportedSpecError(key, "x-heddle-max-items needs an array of a JSON body, with items");
  if (!new RegExp(`\\b${limit}\\b.*\\b413\\b`, "s").test(schema.description ?? ""))
    throw new UnsupportedSpecError(key, `the description has to state that more than ${limit} are rejected with 413`);
}

/** Limits that the service keeps are those that readers of the documentation see. */
function checkLimits({ description = "" }: Schema, limits: Limits, pointer: string): void {
  for (const [name, value] of Object.entries(limits)) {
    if (typeof value === "object") checkLimits({ description }, value, at(pointer, name));
    else if (!description.split(/[^\d.]+|\.(?!\d)/).includes(String(value)))
      throw new UnsupportedSpecError(at(pointer, name), `the description has to state the limit ${value}`);
  }
}

function checkRaw(schema: Schema, pointer: string, use: Use): void {
  if (use === "parameter" || use === "multipart body")
    throw new UnsupportedSpecError(pointer, `free JSON is not allowed in a ${use}`);
  if ("default" in schema) throw new UnsupportedSpecError(at(pointer, "default"), "free JSON has no default");
}

function* children(schema: Schema, pointer: string): Generator<[Schema, string]> {
  for (const [name, child] of Object.entries(schema.properties ?? {})) yield [child, at(pointer, "properties", name)];
  if (typeof schema.additionalProperties === "object") {
    yield [schema.additionalProperties, at(pointer, "additionalProperties")];
  }
  if (schema.items !== undefined) yield [schema.items, at(pointer, "items")];
  for (const key of ["prefixItems", "allOf", "anyOf", "oneOf"] as const) {
    for (const [index, child] of (schema[key] ?? []).entries()) yield [child, at(pointer, key, index)];
  }
}

function checkKeys(value: object, pointer: string, keys: Set<string>, extensions: Set<string>, what: string): void {
  for (const key of Object.keys(value)) {
    if (keys.has(key) || extensions.has(key)) continue;
    if (key.startsWith("x-heddle-")) {
      throw new UnsupportedSpecError(
        at(pointer, key),
        `unknown extension; ${what} may carry ${[...extensions].join(", ")}`,
      );
    }
    if (!key.startsWith("x-")) throw new UnsupportedSpecError(at(pointer, key), `"${key}" is not supported in ${what}`);
  }
}
