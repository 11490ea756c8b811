import { HeddleError } from "@heddle/errors";
import { jsonType } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { schemaFault } from "../llm-models/json-schema.js";
import type { Parameters, ScorerClass } from "./scorer-class.js";
import { scorerClassOf } from "./scorer-classes.js";

/** What a scorer object says, checked. */
export interface ScorerSettings {
  name: string | undefined;
  /** Dataset columns or paths by the name under which the scorer reads them. */
  columnMap: Readonly<Record<string, string>>;
  /** With the defaults of the class. */
  parameters: Parameters;
}

/** Members that objects of every class may have. */
const commonSchemas = {
  name: { type: "string" },
  description: { type: "string" },
  column_map: { type: "object", additionalProperties: { type: "string", minLength: 1 } },
};
/** Ops of SDKs, and members about the class. */
const ignoredMembers = new Set(["score", "summarize", "_type", "_class_name", "_bases"]);

/** The name that a scorer object gives itself, and all else that it says: `ScorerSettings` as JSON. */
export interface CheckedScorer {
  name: string | undefined;
  settings: JsonText;
}

/** Throws `invalid` for a value that is not a scorer of the class, with the member and the reason. */
export function checkedScorer({ className, val }: { className: string; val: JsonText }): CheckedScorer {
  const scorerClass = scorerClassOf(className);
  if (scorerClass === undefined) throw new HeddleError("failed", `there is no class ${className}`);
  const { name, ...settings } = scorerSettings(scorerClass, val);
  return { name, settings: JSON.stringify(settings) };
}

/** Throws `invalid` for a value that is not a scorer of the class, with the member and the reason. */
export function scorerSettings(scorerClass: ScorerClass, val: JsonText): ScorerSettings {
  if (jsonType(val) !== "object") {
    throw new HeddleError("invalid", `a value of class ${scorerClass.name} must be an object`);
  }
  const { parameters: schemas } = scorerClass;
  const members: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(JSON.parse(val) as Record<string, unknown>)) {
    if (member === null || ignoredMembers.has(key)) continue;
    const isKnown = Object.hasOwn(schemas, key) || Object.hasOwn(commonSchemas, key);
    if (isKnown) members[key] = member;
    else if (scorerClass.isSdkClass !== true) throw unknownMember(scorerClass, key);
  }
  const schema = {
    type: "object",
    required: Object.keys(schemas).filter((key) => schemas[key]?.isRequired),
    properties: { ...commonSchemas, ...schemas },
  };
  const fault = schemaFault(JSON.stringify(schema), JSON.stringify(members));
  if (fault !== undefined) throw new HeddleError("invalid", fault);

  const { name, description: _, column_map = {}, ...given } = members;
  const defaults = Object.entries(schemas).flatMap(([key, { default: value }]) =>
    value === undefined ? [] : [[key, value]],
  );
  const parameters = { ...(Object.fromEntries(defaults) as Parameters), ...given };
  scorerClass.check?.(parameters);
  return {
    name: name === "" ? undefined : (name as string | undefined),
    columnMap: column_map as Record<string, string>,
    parameters,
  };
}

function unknownMember({ name, parameters }: ScorerClass, key: string): HeddleError {
  const known = [...Object.keys(parameters), ...Object.keys(commonSchemas)].join(", ");
  return new HeddleError(
    "invalid",
    `${JSON.stringify(key.slice(0, 100))} is not a member of ${name}. It has: ${known}`,
  );
}
