import { literal } from "../ebnf.js";
import { unescapedCharacters } from "./json-grammar.js";
import type { SchemaLocation, SchemaObject } from "./keywords.js";
import { invalidSchema, isObject, pointerTo } from "./keywords.js";
import { undeclaredKey } from "./undeclared-key.js";
import type { GrammarContext } from "./grammar-context.js";

interface Member {
  expression: string;
  required: boolean;
}

/** Writes objects: the declared members in their order, then additional ones if the schema allows them explicitly. */
export function objectBody(location: SchemaLocation<SchemaObject>, depth: number, context: GrammarContext): string {
  const { pointer } = location;
  const { builder, json } = context;
  const properties = propertiesOf(location);
  const required = requiredNames(location);
  const extra = extraSchema(location, properties !== undefined);
  const declared = Object.keys(properties ?? {});
  const undeclared = required.find((name) => !declared.includes(name));
  if (undeclared !== undefined) {
    const at = pointerTo(pointer, "required", required.indexOf(undeclared));
    throw invalidSchema(at, `the required property ${JSON.stringify(undeclared)} is not among the properties`);
  }
  const members = Object.entries(properties ?? {})
    .filter(([name, property]) => property !== false || required.includes(name))
    .map(([name, property]): Member => {
      const at = pointerTo(pointer, "properties", name);
      const value = context.rule({ schema: property, pointer: at }, depth + 1);
      return {
        expression: `${literal(JSON.stringify(name))} ${json.colon} ${value}`,
        required: required.includes(name),
      };
    });
  if (!extra) return membersBody(members, undefined, context);
  const key =
    declared.length === 0 ? json.string() : `${literal('"')} ${undeclaredKey(builder, declared, unescapedCharacters)}`;
  const value = context.rule(extra, depth + 1);
  return membersBody(members, `${key} ${json.colon} ${value}`, context);
}

function propertiesOf({ schema, pointer }: SchemaLocation<SchemaObject>): SchemaObject | undefined {
  if (!("properties" in schema)) return undefined;
  if (isObject(schema.properties)) return schema.properties;
  throw invalidSchema(pointerTo(pointer, "properties"), "properties must be an object");
}

function requiredNames({ schema, pointer }: SchemaLocation<SchemaObject>): string[] {
  if (!("required" in schema)) return [];
  const { required } = schema;
  if (Array.isArray(required) && required.every((name): name is string => typeof name === "string")) return required;
  throw invalidSchema(pointerTo(pointer, "required"), "required must be a list of names");
}

/** Returns the schema of undeclared members: the explicit one, or any value if the schema declares no members. */
function extraSchema({ schema, pointer }: SchemaLocation<SchemaObject>, declares: boolean): SchemaLocation | undefined {
  const keyword = "additionalProperties" in schema ? "additionalProperties" : "unevaluatedProperties";
  if (keyword in schema) {
    const extra = schema[keyword];
    return extra === false ? undefined : { schema: extra, pointer: pointerTo(pointer, keyword) };
  }
  return declares ? undefined : { schema: true, pointer: pointerTo(pointer, keyword) };
}

/**
 * Builds from the last member to the first the expressions for the rest of the object before any member (`first`) and
 * after a member (`after`): two small rules per member, independent of the number of optional ones.
 */
function membersBody(members: Member[], extra: string | undefined, { builder, json }: GrammarContext): string {
  const more = extra === undefined ? "" : `(${json.comma} ${extra})* `;
  let after = builder.rule(`${more}${json.space}`);
  let first = extra === undefined ? undefined : builder.rule(`${extra} ${after}`);
  let mayBeEmpty = true;
  for (const { expression, required } of members.toReversed()) {
    const here = `${expression} ${after}`;
    first = required || first === undefined ? builder.rule(here) : builder.rule(`${here} | ${first}`);
    after = required ? builder.rule(`${json.comma} ${here}`) : builder.rule(`${json.comma} ${here} | ${after}`);
    if (required) mayBeEmpty = false;
  }
  const open = `${literal("{")} ${json.space}`;
  if (first === undefined) return `${open} ${literal("}")}`;
  return `${open} ${first}${mayBeEmpty ? "?" : ""} ${literal("}")}`;
}
