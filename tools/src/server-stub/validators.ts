import { Ajv } from "ajv";
import standalone from "ajv/dist/standalone/index.js";
import type { Model } from "../model/model.js";
import type { Schema } from "../model/openapi.js";
import { UnsupportedSpecError } from "../model/unsupported-spec-error.js";
import { banner } from "../generated-files.js";
import type { Files } from "../generated-files.js";

/** Schemas to compile, by the name of the function. They may refer to components of the document. */
export type Checks = Record<string, Schema>;

/** The code of checks that were compiled before, by their schemas. */
export type CompiledChecks = Map<string, string>;

/** A date, or a date and time with or without an offset; the handler interprets it. */
const dateTimePattern = /^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d([.,]\d+)?)?\s?([Zz]|[+-]\d\d(:?\d\d)?)?)?$/;

/**
 * Compiles checks ahead of time into one ES module without imports and without eval, and its declaration.
 * `name` is the path of the file below `src/generated`, without extension. Free JSON is not looked into, items of lenient lists are checked on their own.
 */
export function validatorFiles(
  name: string,
  model: Model,
  checks: Checks,
  compiled: CompiledChecks = new Map(),
): Files {
  const schemas = Object.entries(checks).map(([key, schema]) => ({ $id: key, ...clean(schema) }));
  const components = reachable(model.document.components?.schemas ?? {}, schemas);
  const key = JSON.stringify([schemas, components]);
  const code = compiled.get(key) ?? compile(schemas, components);
  compiled.set(key, code);
  const head = banner(model.source);
  const up = "../".repeat(name.split("/").length);
  return {
    [`${name}.js`]: `${head}${code}\n`,
    [`${name}.d.ts`]: [
      `${head}import type { Validator } from "${up}validation.js";\n`,
      ...Object.keys(checks).map((check) => `export declare const ${check}: Validator;`),
      "",
    ].join("\n"),
  };
}

function compile(schemas: readonly (Schema & { $id: string })[], components: Record<string, Schema>): string {
  if (schemas.length === 0) return "";
  const ajv = new Ajv({
    code: { source: true, esm: true, lines: true },
    // A finding is described by its keyword and parameters.
    messages: false,
    strict: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    formats: { "date-time": dateTimePattern },
  });
  ajv.addSchema({ $id: "spec", $defs: components });
  for (const schema of schemas) ajv.addSchema(schema);
  const write = standalone as unknown as (ajv: Ajv, refs: Record<string, string>) => string;
  const code = write(ajv, Object.fromEntries(schemas.map(({ $id }) => [$id, $id])));
  return withoutRequire(withoutSchemaPaths(code));
}

/** The components that schemas refer to, and what those refer to: Ajv looks through all it is given. */
function reachable(components: Record<string, Schema>, schemas: readonly Schema[]): Record<string, Schema> {
  const found: Record<string, Schema> = {};
  const pending: Schema[] = [...schemas];
  for (let schema = pending.pop(); schema !== undefined; schema = pending.pop()) {
    for (const [, name] of JSON.stringify(schema).matchAll(/"\$ref":"spec#\/\$defs\/([^"]+)"/g)) {
      if (name === undefined || name in found) continue;
      pending.push((found[name] = clean(components[name]!)));
    }
  }
  return found;
}

/** Findings are described without the location in the schema, which would be a tenth of the code. */
function withoutSchemaPaths(code: string): string {
  return code.replaceAll(/schemaPath:"(?:[^"\\]|\\.)*",/g, "");
}

/** Ajv writes `require` for its helpers even into ES modules. One helper is needed; it is put into the file. */
function withoutRequire(code: string): string {
  const inlined = code.replaceAll('require("ajv/dist/runtime/ucs2length").default', "codePoints");
  const left = /require\([^)]*\)/.exec(inlined);
  if (left) throw new UnsupportedSpecError("/components/schemas", `a validator would need ${left[0]} at run time`);
  return inlined === code
    ? code
    : `${inlined}\nfunction codePoints(text) { let n = 0; for (const _ of text) n++; return n; }`;
}

const validationKeywords = new Set(
  `$ref type enum const required pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum
  multipleOf minItems maxItems uniqueItems minProperties maxProperties`.split(/\s+/),
);

/** What validation needs of a schema. */
function clean(schema: Schema): Schema {
  if (schema["x-heddle-raw-json"] || schema.format === "binary") return {};
  const result: Schema = {};
  for (const [key, value] of Object.entries(schema)) if (validationKeywords.has(key)) result[key] = value;
  if (schema.$ref) result.$ref = schema.$ref.replace("#/components/schemas/", "spec#/$defs/");
  if (schema.format === "date-time") result.format = "date-time";
  if (schema.properties) {
    result.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([key, value]) => [key, clean(value)]),
    );
  }
  if (schema.additionalProperties !== undefined) {
    const others = schema.additionalProperties;
    result.additionalProperties = typeof others === "object" ? clean(others) : others;
  }
  const items = schema.items && (schema["x-heddle-lenient-items"] ? {} : clean(schema.items));
  // Ajv writes smaller code for the older dialect, which spells tuples differently.
  if (schema.prefixItems)
    Object.assign(result, { items: schema.prefixItems.map(clean), additionalItems: items ?? true });
  else if (items) result.items = items;
  for (const key of ["allOf", "anyOf", "oneOf"] as const) {
    if (schema[key]) result[key] = schema[key].map(clean);
  }
  return result;
}
