import { Ajv } from "ajv";
import standalone from "ajv/dist/standalone/index.js";
import type { Model } from "../model/model.js";
import { propertyNames } from "../model/openapi.js";
import type { Schema } from "../model/openapi.js";
import { UnsupportedSpecError } from "../model/unsupported-spec-error.js";
import { banner } from "../generated-files.js";
import type { Files } from "../generated-files.js";

/** Schemas to compile, by the name of the function. They may refer to components of the document. */
export type Checks = Record<string, Schema>;

/** The code of checks that were compiled before, by their schemas. */
export type CompiledChecks = Map<string, string>;

const dayPattern = [
  String.raw`\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))`,
  // Leap years.
  String.raw`(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29`,
].join("|");
const timePattern = String.raw`[Tt ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,18})?)?(?:[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?`;

/** A date, or a date and time with or without an offset, or a number in a text; the handler interprets it. */
const dateTimePattern = new RegExp(String.raw`^(?:(?:${dayPattern})(?:${timePattern})?|-?\d+(?:\.\d*)?)$`);

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
  const all = model.document.components?.schemas ?? {};
  const schemas = Object.entries(checks).map(([key, schema]) => ({ $id: key, ...clean(schema, all) }));
  const components = reachable(all, schemas);
  const key = JSON.stringify([schemas, components]);
  const plain = compiled.get(key) ?? compile(schemas, components);
  compiled.set(key, plain);
  const code = withPatternMessages(plain, model.document);
  const head = banner(model.source);
  const up = "../".repeat(name.split("/").length);
  return {
    [`${name}.js`]: `${head}${code}\n`,
    [`${name}.d.ts`]: [
      `${head}import type { Validator } from "${up}validation/validation.js";\n`,
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
    // A client corrects all mistakes at once.
    allErrors: true,
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
  return boundedFindings(withoutRequire(withBranches(code)));
}

/** More findings of one value than these are not kept: a large body can be wrong everywhere. */
const maxFindings = 100;

/** Counts all findings and keeps the first ones: the compiled code decides by the count. */
function boundedFindings(code: string): string {
  const bounded = code
    .replaceAll(
      /if\(vErrors === null\)\{\nvErrors = \[(\w+)\];\n\}\nelse \{\nvErrors\.push\(\1\);\n\}/g,
      "vErrors = keep(vErrors, [$1]);",
    )
    .replaceAll(
      /vErrors = vErrors === null \? ([\w.]+) : vErrors\.concat\(\1\);\nerrors = vErrors\.length;/g,
      "vErrors = keep(vErrors, $1);\nerrors += $1.length;",
    )
    .replaceAll(/vErrors\.length = (\w+);/g, "vErrors.length = Math.min(vErrors.length, $1);");
  if (bounded === code) return code;
  return `${bounded}
function keep(kept, found) { return kept?.length >= ${maxFindings} ? kept : [...(kept ?? []), ...found]; }`;
}

/** Gives each finding about a pattern its message: what the schema says is expected, else the pattern. */
function withPatternMessages(code: string, document: object): string {
  const expected = expectedTexts(document);
  return code.replaceAll(/params:\{pattern: ("(?:[^"\\]|\\.)*")\}/g, (_, literal: string) => {
    const pattern = JSON.parse(literal) as string;
    const words = expected.get(pattern);
    const msg = words === undefined ? `Does not match the pattern ${pattern}` : `Must be ${words}`;
    return `params:{msg: ${JSON.stringify(msg)}}`;
  });
}

function expectedTexts(value: unknown): Map<string, string> {
  if (typeof value !== "object" || value === null) return new Map();
  const inner = Object.values(value).flatMap((member) => [...expectedTexts(member)]);
  const { pattern, "x-heddle-expected": expected } = value as Schema;
  return new Map(typeof pattern === "string" && expected !== undefined ? [...inner, [pattern, expected]] : inner);
}

/** The components that schemas refer to, and what those refer to: Ajv looks through all it is given. */
function reachable(components: Record<string, Schema>, schemas: readonly Schema[]): Record<string, Schema> {
  const found: Record<string, Schema> = {};
  const pending: Schema[] = [...schemas];
  for (let schema = pending.pop(); schema !== undefined; schema = pending.pop()) {
    for (const [, name] of JSON.stringify(schema).matchAll(/"\$ref":"spec#\/\$defs\/([^"]+)"/g)) {
      if (name === undefined || name in found) continue;
      pending.push((found[name] = clean(components[name]!, components)));
    }
  }
  return found;
}

/**
 * Of the location in the schema, findings have the component or the alternative that they are of, which tells alternatives
 * apart; all of it would be a tenth of the code.
 */
function withBranches(code: string): string {
  const functions = code.split(/(?=\nfunction validate\d+\()/);
  return functions
    .map((part) => {
      const own = /^\nfunction validate(\d+)/.exec(part)?.[1] ?? "";
      return part.replaceAll(/schemaPath:"((?:[^"\\]|\\.)*)",/g, (_, path: string) => {
        const inner = [...path.matchAll(/\$defs\/([^/]+)|((?:any|one)Of\/\d+)/g)].at(-1);
        return `branch:"${inner?.[1] ?? inner?.[2] ?? own}",`;
      });
    })
    .join("");
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
function clean(schema: Schema, components: Record<string, Schema>): Schema {
  if (schema["x-heddle-raw-json"] || schema.format === "binary") return {};
  const result: Schema = {};
  for (const [key, value] of Object.entries(schema)) if (validationKeywords.has(key)) result[key] = value;
  if (schema.$ref) result.$ref = schema.$ref.replace("#/components/schemas/", "spec#/$defs/");
  if (schema.format === "date-time") result.format = "date-time";
  // Seconds from the year 1900, milliseconds up to the year 2299; the server knows these limits by their numbers.
  if (schema["x-heddle-time"])
    Object.assign(result, { format: "date-time", minimum: -2208988800, exclusiveMaximum: 10413792000000 });
  if (schema.properties) {
    result.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([key, value]) => [key, clean(value, components)]),
    );
  }
  if (schema.additionalProperties !== undefined) {
    const others = schema.additionalProperties;
    result.additionalProperties = typeof others === "object" ? clean(others, components) : others;
  }
  // Ajv would track what each schema has looked at; the names are known here.
  if (schema.unevaluatedProperties === false) {
    const names = propertyNames(components, schema);
    result.properties = { ...Object.fromEntries(names.map((name) => [name, {}])), ...result.properties };
    result.additionalProperties = false;
  }
  const items = schema.items && (schema["x-heddle-lenient-items"] ? {} : clean(schema.items, components));
  // Ajv writes smaller code for the older dialect, which spells tuples differently.
  if (schema.prefixItems)
    Object.assign(result, {
      items: schema.prefixItems.map((item) => clean(item, components)),
      additionalItems: items ?? true,
    });
  else if (items) result.items = items;
  for (const key of ["allOf", "anyOf", "oneOf"] as const) {
    if (schema[key]) result[key] = schema[key].map((part) => clean(part, components));
  }
  return result;
}
