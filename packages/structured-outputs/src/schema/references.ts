import type { SchemaLocation } from "./keywords.js";
import { invalidSchema, isObject, pointerTo } from "./keywords.js";

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
  return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

/** Returns the schemas that apply to the same value, where a cycle would be infinite. */
export function sameValueLocations({ schema, pointer }: SchemaLocation, refs: References): SchemaLocation[] {
  if (!isObject(schema)) return [];
  if ("$ref" in schema) return [refs.target(schema.$ref, pointer)];
  return ["anyOf", "oneOf", "allOf"].flatMap((keyword) => {
    const branches = schema[keyword];
    return Array.isArray(branches)
      ? branches.map((branch: unknown, index) => ({ schema: branch, pointer: pointerTo(pointer, keyword, index) }))
      : [];
  });
}
