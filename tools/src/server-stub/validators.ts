import { Ajv } from "ajv";
import standalone from "ajv/dist/standalone/index.js";
import type { Model } from "../model/model.js";
import type { Schema } from "../model/openapi.js";
import { UnsupportedSpecError } from "../model/unsupported-spec-error.js";
import { banner } from "../generated-files.js";
import type { Files } from "../generated-files.js";

/** Schemas to compile, by the name of the function. They may refer to components of the document. */
export type Checks = Record<string, Schema>;

/** A date, or a date and time with or without an offset; the handler interprets it. */
const dateTimePattern = /^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d([.,]\d+)?)?\s?([Zz]|[+-]\d\d(:?\d\d)?)?)?$/;

/**
 * Compiles checks ahead of time into one ES module without imports and without eval, and its declaration.
 * `name` is the path of the file below `src/generated`, without extension. Free JSON is not looked into, items of lenient lists are checked on their own.
 */
export function validatorFiles(name: string, model: Model, checks: Checks): Files {
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
  const components = Object.entries(model.document.components?.schemas ?? {});
  ajv.addSchema({ $id: "spec", $defs: Object.fromEntries(components.map(([key, schema]) => [key, clean(schema)])) });
  const names = Object.keys(checks);
  for (const [key, schema] of Object.entries(checks)) ajv.addSchema({ $id: key, ...clean(schema) });
  const compile = standalone as unknown as (ajv: Ajv, refs: Record<string, string>) => string;
  const code = names.length === 0 ? "" : compile(ajv, Object.fromEntries(names.map((key) => [key, key])));
  const head = banner(model.source);
  const up = "../".repeat(name.split("/").length);
  return {
    [`${name}.js`]: `${head}${withoutRequire(withoutSchemaPaths(code))}\n`,
    [`${name}.d.ts`]: [
      `${head}import type { Validator } from "${up}validation.js";\n`,
      ...names.map((key) => `export declare const ${key}: Validator;`),
      "",
    ].join("\n"),
  };
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
