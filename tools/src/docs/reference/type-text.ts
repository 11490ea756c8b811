import { componentName, deref, typesOf } from "../../model/openapi.js";
import type { OpenApi, Schema } from "../../model/openapi.js";
import { codeSpan } from "../page/markdown-text.js";

/** Address of the section on a component, relative to the page that is being written. */
export type LinkTo = (component: string) => string;

/** What a value may be, as Markdown on one line: type, then limits and default. */
export function typeText(document: OpenApi, schema: Schema, link: LinkTo): string {
  return [kindText(document, schema, link), ...limitsOf(schema)].join(", ");
}

function kindText(document: OpenApi, schema: Schema, link: LinkTo): string {
  const component = componentName(schema);
  if (component !== undefined) return referenceText(document, schema, component, link);
  if ("const" in schema) return codeSpan(JSON.stringify(schema.const));
  if (schema.enum !== undefined) {
    const values = schema.enum.map((value) => codeSpan(JSON.stringify(value)));
    return values.length === 1 ? values.join() : `one of ${values.join(", ")}`;
  }
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return alternatives.map((part) => typeText(document, part, link)).join(" or ");
  if (schema.allOf !== undefined) return schema.allOf.map((part) => typeText(document, part, link)).join(" and ");
  const types = typesOf(schema);
  if (types.length === 0) return schema["x-heddle-raw-json"] ? "free JSON" : "any JSON";
  return types.map((type) => (type === "null" ? type : namedType(document, schema, type, link))).join(" or ");
}

/** A link to the component, and what it is where that fits on the line. */
function referenceText(document: OpenApi, schema: Schema, component: string, link: LinkTo): string {
  const name = `[${component}](${link(component)})`;
  const { value } = deref<Schema>(document, schema, "");
  const scalar = typesOf(value).length > 0 && typesOf(value).every((type) => scalarTypes.has(type));
  return scalar && value.enum === undefined ? `${name}: ${typeText(document, value, link)}` : name;
}

const scalarTypes = new Set(["string", "integer", "number", "boolean", "null"]);

function namedType(document: OpenApi, schema: Schema, type: string, link: LinkTo): string {
  if (type === "array") {
    if (schema.prefixItems !== undefined) {
      return `array of exactly (${schema.prefixItems.map((item) => typeText(document, item, link)).join("; ")})`;
    }
    return schema.items === undefined ? "array" : `array of ${grouped(typeText(document, schema.items, link))}`;
  }
  if (type === "object") {
    if (schema["x-heddle-raw-json"]) return "object of free JSON";
    if (typeof schema.additionalProperties === "object" && schema.properties === undefined) {
      return `object with values of ${grouped(typeText(document, schema.additionalProperties, link))}`;
    }
  }
  return type;
}

/** Parentheses where "or" or a comma would bind to the wrong word. */
function grouped(text: string): string {
  return / or |, /.test(text) ? `(${text})` : text;
}

/** Limits and default of the value itself, not of what it holds. */
function limitsOf(schema: Schema): string[] {
  const number = (key: string) => (typeof schema[key] === "number" ? schema[key] : undefined);
  const found = [
    schema.format,
    between(number("minLength"), number("maxLength"), "characters"),
    between(number("minItems"), number("maxItems") ?? schema["x-heddle-max-items"], "items"),
    between(number("minProperties"), number("maxProperties"), "keys"),
    between(number("minimum"), number("maximum"), ""),
    number("exclusiveMinimum") === undefined ? undefined : `> ${number("exclusiveMinimum")}`,
    number("exclusiveMaximum") === undefined ? undefined : `< ${number("exclusiveMaximum")}`,
    number("multipleOf") === undefined ? undefined : `a multiple of ${number("multipleOf")}`,
    schema["uniqueItems"] === true ? "no duplicates" : undefined,
    typeof schema["pattern"] === "string" ? `pattern ${codeSpan(schema["pattern"])}` : undefined,
    schema["x-heddle-lenient-items"] ? "each item is checked on its own" : undefined,
    schema["x-heddle-exact-integers"] ? "integers of any size" : undefined,
    "default" in schema ? `default ${codeSpan(JSON.stringify(schema.default))}` : undefined,
    schema["deprecated"] === true ? "deprecated" : undefined,
  ];
  return found.filter((text) => text !== undefined);
}

function between(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  if (unit === "") {
    if (least !== undefined && most !== undefined) return `${least} to ${most}`;
    return least === undefined ? (most === undefined ? undefined : `≤ ${most}`) : `≥ ${least}`;
  }
  if (least === undefined && most === undefined) return undefined;
  const counted = (count: number) => `${count} ${count === 1 ? unit.replace(/s$/, "") : unit}`;
  if (most === undefined) return `at least ${counted(least ?? 0)}`;
  if (least === undefined) return `at most ${counted(most)}`;
  return least === most ? counted(most) : `${least} to ${counted(most)}`;
}
