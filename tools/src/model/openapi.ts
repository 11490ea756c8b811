import { at } from "./pointer.js";
import { UnsupportedSpecError } from "./unsupported-spec-error.js";

/** The parts of OpenAPI 3.1 that a bundled document may contain. Everything else is refused by `supported.ts`. */
export interface OpenApi {
  openapi: string;
  info: { title: string; version: string; description?: string };
  servers?: { url: string }[];
  tags?: { name: string; description?: string }[];
  paths: Record<string, PathItem>;
  components?: { schemas?: Record<string, Schema>; securitySchemes?: Record<string, SecurityScheme> } & Record<
    string,
    unknown
  >;
  security?: Record<string, string[]>[];
  "x-heddle-interface"?: string;
  "x-heddle-max-body-bytes"?: number;
  [key: string]: unknown;
}

export type PathItem = Record<string, unknown> & { parameters?: Maybe<ParameterObject>[] };

export interface OperationObject {
  operationId?: string;
  tags?: string[];
  summary?: string;
  description?: string;
  deprecated?: boolean;
  parameters?: Maybe<ParameterObject>[];
  requestBody?: Maybe<RequestBodyObject>;
  responses?: Record<string, Maybe<ResponseObject>>;
  security?: Record<string, string[]>[];
  "x-heddle-access"?: { right?: unknown; project?: unknown };
  "x-heddle-aliases"?: string[];
  "x-heddle-destructive"?: boolean;
  "x-heddle-error-object"?: boolean;
  "x-heddle-extension"?: boolean;
  "x-heddle-needs-provider"?: boolean;
  "x-heddle-raw-body"?: boolean;
  "x-heddle-secret"?: boolean;
  "x-heddle-share"?: boolean;
  "x-heddle-streamed-body"?: boolean;
  "x-heddle-max-body-bytes"?: number;
  [key: string]: unknown;
}

export interface ParameterObject {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
  style?: string;
  explode?: boolean;
  example?: unknown;
  content?: unknown;
}

export interface RequestBodyObject {
  required?: boolean;
  description?: string;
  content: Record<string, MediaType>;
}

export interface ResponseObject {
  description?: string;
  headers?: Record<string, unknown>;
  content?: Record<string, MediaType>;
}

export interface MediaType {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, unknown>;
}

interface SecurityScheme {
  type: string;
  scheme?: string;
  in?: string;
  name?: string;
}

export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  /** Beside `allOf`: other keys than those of its schemas are refused. */
  unevaluatedProperties?: false;
  items?: Schema;
  prefixItems?: Schema[];
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  "x-heddle-raw-json"?: boolean;
  "x-heddle-lenient-items"?: boolean;
  "x-heddle-max-items"?: number;
  "x-heddle-limits"?: Limits;
  "x-heddle-exact-integers"?: boolean;
  "x-heddle-time"?: boolean;
  "x-heddle-expected"?: string;
  [key: string]: unknown;
}

/** Numbers by name, in groups. */
export interface Limits {
  [name: string]: number | Limits;
}

interface Reference {
  $ref: string;
}

export type Maybe<T> = T | Reference;

/**
 * Follows a chain of local `$ref`s.
 * The returned `pointer` is that of the value itself, so that an error names the location to change.
 */
export function deref<T>(document: OpenApi, value: Maybe<T>, pointer: string): { value: T; pointer: string } {
  let current: unknown = value;
  let location = pointer;
  for (let hops = 0; isReference(current); hops++) {
    const ref = current.$ref;
    if (!ref.startsWith("#/"))
      throw new UnsupportedSpecError(at(location, "$ref"), `"${ref}" leaves the document; bundle it first`);
    if (hops > 32) throw new UnsupportedSpecError(at(location, "$ref"), `"${ref}" only leads to itself`);
    current = lookUp(document, ref.slice(1));
    if (current === undefined) throw new UnsupportedSpecError(at(location, "$ref"), `there is nothing at "${ref}"`);
    location = ref.slice(1);
  }
  return { value: current as T, pointer: location };
}

/** Name of the component that a schema refers to, if it is a reference to one. */
export function componentName(schema: Schema): string | undefined {
  return schema.$ref?.startsWith("#/components/schemas/")
    ? schema.$ref.slice("#/components/schemas/".length)
    : undefined;
}

/** The names of the properties of a schema and of those that it joins with `allOf`. */
export function propertyNames(components: Record<string, Schema>, schema: Schema): string[] {
  const name = componentName(schema);
  const found = name === undefined ? schema : (components[name] ?? {});
  return [
    ...Object.keys(found.properties ?? {}),
    ...(found.allOf ?? []).flatMap((part) => propertyNames(components, part)),
  ];
}

/** The types a schema names, as a list; empty when it names none. */
export function typesOf(schema: Schema): string[] {
  return schema.type === undefined ? [] : [schema.type].flat();
}

function isReference(value: unknown): value is Reference {
  return typeof value === "object" && value !== null && "$ref" in value && typeof value.$ref === "string";
}

function lookUp(document: OpenApi, pointer: string): unknown {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>(
      (value, step) =>
        typeof value === "object" && value !== null && Object.hasOwn(value, step)
          ? (value as Record<string, unknown>)[step]
          : undefined,
      document,
    );
}
