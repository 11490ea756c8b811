import type { Parts } from "./conjunction.js";
import { having } from "./conjunction.js";
import type { SchemaLocation, SchemaObject } from "./keywords.js";
import { invalidSchema, pointerTo } from "./keywords.js";

/** Returns the explicit schema of the members that a schema neither names nor has a pattern of. */
export function extraSchema(
  { schema, pointer }: SchemaLocation<SchemaObject>,
  parts: number,
): SchemaLocation | undefined {
  const keyword = "additionalProperties" in schema ? "additionalProperties" : "unevaluatedProperties";
  if (!(keyword in schema)) return undefined;
  const at = pointerTo(pointer, keyword);
  if (keyword === "unevaluatedProperties" && parts > 1)
    throw invalidSchema(at, "unevaluatedProperties together with other schemas is not supported");
  return { schema: schema[keyword], pointer: at };
}

/** Whether no schema says anything about members, so that there may be any. */
export function declaresNothing(parts: Parts): boolean {
  const keywords = ["properties", "patternProperties", "additionalProperties", "unevaluatedProperties"];
  return keywords.every((keyword) => having(parts, keyword).length === 0);
}
