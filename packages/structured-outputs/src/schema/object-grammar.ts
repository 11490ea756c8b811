import { isJsonObject } from "@heddle/exact-json";
import { literal } from "../ebnf.js";
import type { Conjunction, Parts } from "./conjunction.js";
import { having } from "./conjunction.js";
import type { GrammarContext } from "./grammar-context.js";
import type { SchemaLocation, SchemaObject } from "./keywords.js";
import { countKeyword, invalidSchema, pointerTo } from "./keywords.js";
import type { MemberCounts } from "./members.js";
import { membersBody } from "./members.js";
import { otherMembers } from "./other-members.js";
import type { MemberNames } from "./property-names.js";
import { memberNames } from "./property-names.js";
import { declaresNothing, extraSchema } from "./undeclared-members.js";

const maxProperties = 1_000;

/** Writes objects: the declared members in their order, then others if the schemas allow them explicitly. */
export function objectBody(parts: Parts, depth: number, context: GrammarContext): string {
  const names = memberNames(parts, context);
  const required = requiredNames(parts);
  const declared = new Set(having(parts, "properties").flatMap((part) => Object.keys(propertiesOf(part))));
  const needed = [...required.keys()].filter((name) => !declared.has(name));
  const written = new Set([...declared, ...(names.listed ?? []), ...needed]);
  const members = [...written].flatMap((name) => {
    const at = required.get(name);
    const schemas = names.allows(name) ? schemasOf(name, parts, declared, names) : undefined;
    if (schemas === undefined) {
      if (at === undefined) return [];
      throw invalidSchema(at, `the required property ${JSON.stringify(name)} is not among the properties`);
    }
    const never = schemas.find(({ schema }) => schema === false);
    if (never && at === undefined) return [];
    if (never) throw invalidSchema(never.pointer, "false allows no value");
    const value = context.rule(schemas, depth + 1);
    return [
      {
        expression: `${literal(JSON.stringify(name))} ${context.json.colon} ${value}`,
        required: at !== undefined,
      },
    ];
  });
  const others = names.listed ? undefined : otherMembers(parts, [...written], names, depth, context);
  return membersBody(members, others, countsOf(parts), context);
}

/** Returns what the member has to satisfy, undefined if no schema says that there may be one. */
function schemasOf(
  name: string,
  parts: Parts,
  declared: ReadonlySet<string>,
  names: MemberNames,
): Conjunction | undefined {
  let described = declared.has(name) || declaresNothing(parts);
  const schemas = parts.flatMap((part): SchemaLocation[] => {
    const { pointer } = part;
    const properties = propertiesOf(part);
    const own: SchemaLocation[] = Object.hasOwn(properties, name)
      ? [{ schema: properties[name], pointer: pointerTo(pointer, "properties", name) }]
      : [];
    const matching = names.patterns.filter((each) => each.part === part && each.matches(name));
    own.push(...matching.map(({ location }) => location));
    if (own.length > 0) {
      described = true;
      return own;
    }
    const extra = extraSchema(part, parts.length);
    if (extra) described = true;
    return extra ? [extra] : [];
  });
  return described ? schemas : undefined;
}

function propertiesOf({ schema, pointer }: SchemaLocation<SchemaObject>): SchemaObject {
  if (!("properties" in schema)) return {};
  if (isJsonObject(schema.properties)) return schema.properties;
  throw invalidSchema(pointerTo(pointer, "properties"), "properties must be an object");
}

/** Returns the required names, each with the pointer to it. */
function requiredNames(parts: Parts): Map<string, string> {
  const names = new Map<string, string>();
  for (const { schema, pointer } of having(parts, "required")) {
    const { required } = schema;
    const at = pointerTo(pointer, "required");
    if (!Array.isArray(required)) throw invalidSchema(at, "required must be a list of names");
    for (const [index, name] of required.entries()) {
      if (typeof name !== "string") throw invalidSchema(at, "required must be a list of names");
      if (!names.has(name)) names.set(name, pointerTo(at, index));
    }
  }
  return names;
}

function countsOf(parts: Parts): MemberCounts {
  const counts: MemberCounts = { min: 0, max: undefined, at: "#" };
  for (const { schema, pointer } of parts) {
    const least = countKeyword(schema, "minProperties", pointer, maxProperties) ?? 0;
    const most = countKeyword(schema, "maxProperties", pointer, maxProperties);
    if (most !== undefined) counts.max = Math.min(counts.max ?? most, most);
    if (most !== undefined || least > 0) counts.at = pointerTo(pointer, least > 0 ? "minProperties" : "maxProperties");
    counts.min = Math.max(counts.min, least);
  }
  if (counts.max !== undefined && counts.max < counts.min)
    throw invalidSchema(counts.at, "maxProperties is below minProperties");
  return counts;
}
