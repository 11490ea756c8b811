import { isJsonObject } from "@heddle/exact-json";
import type { SchemaLocation } from "./keywords.js";
import { invalidSchema, pointerTo } from "./keywords.js";

/** Resolves `$ref` within one schema document. */
export interface References {
  /**
   * Returns the target of the `$ref` of the schema at `pointer`. Throws `invalid` for a reference to another document.
   */
  target(reference: unknown, pointer: string): SchemaLocation;
}

export function references(root: unknown): References {
  return {
    target(reference, pointer) {
      const at = pointerTo(pointer, "$ref");
      if (typeof reference !== "string") throw invalidSchema(at, "$ref must be text");
      if (reference !== "#" && !reference.startsWith("#/")) {
        throw invalidSchema(
          at,
          `only references inside the schema (#/…) are followed, not ${JSON.stringify(reference)}`,
        );
      }
      const steps = reference
        .split("/")
        .slice(1)
        .map((step) => decodeStep(step, at));
      let schema = root;
      for (const step of steps) {
        const next = childOf(schema, step);
        if (next === undefined) throw invalidSchema(at, `${JSON.stringify(reference)} does not exist`);
        schema = next;
      }
      return { schema, pointer: pointerTo("#", ...steps) };
    },
  };
}

function decodeStep(step: string, pointer: string): string {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    throw invalidSchema(pointer, "the reference is not a valid URI fragment");
  }
}

function childOf(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return /^(0|[1-9][0-9]{0,6})$/.test(step) ? value[Number(step)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

/** Returns the schemas that apply to the same value, where a cycle would be infinite. */
export function sameValueLocations(location: SchemaLocation, refs: References): SchemaLocation[] {
  const { schema, pointer } = location;
  if (!isJsonObject(schema)) return [];
  const target = "$ref" in schema ? [refs.target(schema.$ref, pointer)] : [];
  return [...target, ...["anyOf", "oneOf", "allOf"].flatMap((keyword) => branchLocations(location, keyword))];
}

export function branchLocations({ schema, pointer }: SchemaLocation, keyword: string): SchemaLocation[] {
  const branches = isJsonObject(schema) ? schema[keyword] : undefined;
  if (!Array.isArray(branches)) return [];
  return branches.map((branch: unknown, index) => ({ schema: branch, pointer: pointerTo(pointer, keyword, index) }));
}
