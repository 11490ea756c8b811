import type { Model, Operation } from "../model/model.js";
import { deref } from "../model/openapi.js";
import type {
  Maybe,
  MediaType,
  OpenApi,
  OperationObject,
  RequestBodyObject,
  ResponseObject,
  Schema,
} from "../model/openapi.js";
import { at } from "../model/pointer.js";

type Json = Record<string, unknown>;

/** What a judge of servers needs of a document: operations with their schemas and examples, without descriptions. */
export function planOf(model: Model): Json {
  const { document } = model;
  const schemas = Object.entries(document.components?.schemas ?? {});
  return {
    interface: model.interface,
    title: model.title,
    version: model.version,
    security: keySchemes(document).map(({ type, scheme, name }) =>
      type === "http" ? { scheme } : { scheme: "header", name },
    ),
    operations: model.operations.map((operation) => operationOf(model, operation)),
    schemas: Object.fromEntries(schemas.map(([name, schema]) => [name, validated(schema)])),
  };
}

/** The ways to send a key, each sufficient by itself. */
function keySchemes({ security = [], components }: OpenApi) {
  const alone = security.map((schemes) => Object.keys(schemes)).filter((names) => names.length === 1);
  return alone.flat().flatMap((name) => components?.securitySchemes?.[name] ?? []);
}

function operationOf(model: Model, operation: Operation): Json {
  const { document } = model;
  const source = document.paths[operation.path]?.[operation.method] as OperationObject;
  const { body } = operation;
  const responses = operation.responses.map(({ status, contents }) => [
    String(status),
    {
      contents: contents.map(({ mediaType, kind, schema }) => ({
        mediaType,
        kind,
        ...(schema && kind !== "bytes" && { schema: validated(schema) }),
      })),
    },
  ]);
  const links = (source.responses?.[operation.success.status] as { links?: { readBack?: Json } } | undefined)?.links;
  const examples = bodyExamples(model, operation, source);
  const response = sampleOf(model, `${operation.id}Response`);
  return {
    id: operation.id,
    group: operation.group,
    method: operation.method.toUpperCase(),
    path: operation.path,
    aliases: operation.aliases,
    public: operation.public,
    ...(operation.access && { access: operation.access }),
    destructive: operation.destructive,
    needsProvider: source["x-heddle-needs-provider"] === true,
    params: operation.params.map(({ name, in: location, required, schema, example }) => ({
      name,
      in: location,
      required,
      schema: validated(schema),
      ...(example !== undefined && { example }),
    })),
    ...(body && {
      body: {
        kind: body.kind,
        required: body.required,
        mediaTypes: body.mediaTypes,
        streamed: body.streamed,
        ...(body.schema && { schema: validated(body.schema) }),
        examples,
      },
    }),
    ...(response && { response: response.value }),
    responses: Object.fromEntries(responses) as Json,
    success: operation.success.status,
    ...(operation.stream && { stream: operation.stream, item: itemExample(model, operation, source) }),
    streamOptional: operation.streamOptional,
    ...(links?.readBack && { readBack: links.readBack }),
  };
}

/** Examples of the request body; first the one that is named after the operation. */
function bodyExamples(model: Model, { id, pointer }: Operation, source: OperationObject): Json[] {
  if (source.requestBody === undefined) return [];
  const body = deref<RequestBodyObject>(model.document, source.requestBody, at(pointer, "requestBody"));
  const found = Object.entries(body.value.content).flatMap(([mediaType, media]) =>
    examplesOf(model, media, at(body.pointer, "content", mediaType)).map(([name, value]) => ({
      name,
      mediaType,
      value,
    })),
  );
  const own = found.filter(({ name }) => name === `${id}Request`);
  return [...own, ...found.filter((example) => !own.includes(example))];
}

/** Example of one item of the stream. */
function itemExample(model: Model, { pointer, success }: Operation, source: OperationObject): unknown {
  const status = String(success.status);
  const response = deref<ResponseObject>(
    model.document,
    source.responses?.[status] as Maybe<ResponseObject>,
    at(pointer, "responses", status),
  );
  const streams = Object.entries(response.value.content ?? {}).filter(
    ([mediaType]) => mediaType === "application/jsonl" || mediaType === "text/event-stream",
  );
  return streams.flatMap(([mediaType, media]) =>
    examplesOf(model, media, at(response.pointer, "content", mediaType)).map(([, value]) => value),
  )[0];
}

function examplesOf(model: Model, { examples = {} }: MediaType, pointer: string): [name: string, value: unknown][] {
  return Object.entries(examples).map(([name, example]) => {
    const { value } = deref(model.document, example as Maybe<{ value: unknown }>, at(pointer, "examples", name));
    return [name, value.value];
  });
}

function sampleOf({ document }: Model, name: string): { value: unknown } | undefined {
  return (document.components?.["examples"] as Record<string, { value: unknown }> | undefined)?.[name];
}

const keptKeywords = new Set(
  `$ref type enum const required pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum
  multipleOf minItems maxItems uniqueItems minProperties maxProperties x-heddle-raw-json
  x-heddle-max-items`.split(/\s+/),
);

/** The part of a schema that is validated. Free JSON is not looked into. */
function validated(schema: Schema): Schema {
  if (schema.format === "binary") return {};
  const result: Schema = {};
  for (const [key, value] of Object.entries(schema)) if (keptKeywords.has(key)) result[key] = value;
  if (schema.format === "date-time") result.format = "date-time";
  if (schema["x-heddle-raw-json"]) {
    return { "x-heddle-raw-json": true, ...(schema.type !== undefined && { type: schema.type }) };
  }
  if (schema.properties) result.properties = each(schema.properties);
  const { additionalProperties: others } = schema;
  if (others !== undefined) result.additionalProperties = typeof others === "object" ? validated(others) : others;
  // Items of lenient lists never fail their request.
  if (schema.items && !schema["x-heddle-lenient-items"]) result.items = validated(schema.items);
  for (const key of ["prefixItems", "allOf", "anyOf", "oneOf"] as const) {
    if (schema[key]) result[key] = schema[key].map(validated);
  }
  return result;
}

function each(schemas: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(schemas).map(([key, schema]) => [key, validated(schema)]));
}
