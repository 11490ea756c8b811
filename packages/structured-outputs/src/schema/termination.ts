import { isJsonObject } from "@heddle/exact-json";
import type { SchemaLocation } from "./keywords.js";
import { invalidSchema, pointerTo } from "./keywords.js";
import type { References } from "./references.js";
import { branchLocations, sameValueLocations } from "./references.js";

/**
 * Refuses schemas with infinite recursion: `$ref` cycles on the same value, and values that must contain themselves.
 * The keywords of the schema must have been validated.
 */
export function checkTermination(root: SchemaLocation, refs: References): void {
  const targets = reachableTargets(root, refs);
  const done = new Set<string>();
  for (const location of [root, ...targets.values()]) checkLoop(location, new Set(), done, refs);

  const finite = new Set<string>();
  for (let changed = true; changed;) {
    changed = false;
    for (const [pointer, location] of targets) {
      if (finite.has(pointer) || !canTerminate(location, finite, refs)) continue;
      finite.add(pointer);
      changed = true;
    }
  }
  if (!canTerminate(root, finite, refs)) {
    throw invalidSchema(root.pointer, "its references require a value of infinite depth");
  }
  const unterminated = [...targets].find(([pointer]) => !finite.has(pointer));
  if (unterminated) throw invalidSchema(unterminated[0], "its references require a value of infinite depth");
}

/** Returns the targets of all reachable `$ref`s by pointer. */
function reachableTargets(root: SchemaLocation, refs: References): Map<string, SchemaLocation> {
  const targets = new Map<string, SchemaLocation>();
  const visited = new Set<string>();
  const visit = (location: SchemaLocation): void => {
    const { schema, pointer } = location;
    if (!isJsonObject(schema) || visited.has(pointer)) return;
    visited.add(pointer);
    if ("$ref" in schema) {
      const target = refs.target(schema.$ref, pointer);
      targets.set(target.pointer, target);
    }
    for (const part of parts(location, refs)) visit(part);
  };
  visit(root);
  return targets;
}

/** Returns the schemas of the value and of the values in it. */
function parts(location: SchemaLocation, refs: References): SchemaLocation[] {
  const { schema, pointer } = location;
  if (!isJsonObject(schema)) return [];
  const inner: SchemaLocation[] = sameValueLocations(location, refs);
  for (const keyword of ["additionalProperties", "unevaluatedProperties", "items", "unevaluatedItems"]) {
    if (isJsonObject(schema[keyword])) inner.push({ schema: schema[keyword], pointer: pointerTo(pointer, keyword) });
  }
  for (const keyword of ["properties", "patternProperties", "prefixItems"]) {
    const children = schema[keyword];
    if (typeof children !== "object" || children === null) continue;
    for (const [name, child] of Object.entries(children)) {
      inner.push({ schema: child as unknown, pointer: pointerTo(pointer, keyword, name) });
    }
  }
  return inner;
}

function checkLoop(location: SchemaLocation, path: Set<string>, done: Set<string>, refs: References): void {
  if (path.has(location.pointer)) throw invalidSchema(location.pointer, "its references form a cycle");
  if (done.has(location.pointer)) return;
  path.add(location.pointer);
  for (const next of sameValueLocations(location, refs)) checkLoop(next, path, done, refs);
  path.delete(location.pointer);
  done.add(location.pointer);
}

/** Returns whether a finite value satisfies the schema, given that finite values satisfy the schemas of `finite`. */
function canTerminate(location: SchemaLocation, finite: ReadonlySet<string>, refs: References): boolean {
  const { schema, pointer } = location;
  if (!isJsonObject(schema)) return schema !== false;
  if ("$ref" in schema && !finite.has(refs.target(schema.$ref, pointer).pointer)) return false;
  const can = (branch: SchemaLocation) => canTerminate(branch, finite, refs);
  const isWhole = ["anyOf", "oneOf"].every((keyword) => {
    const branches = branchLocations(location, keyword);
    return branches.length === 0 || branches.some(can);
  });
  if (!isWhole || !branchLocations(location, "allOf").every(can)) return false;
  const otherType = Array.isArray(schema.type) && schema.type.some((type) => type !== "object" && type !== "array");
  if (otherType) return true;
  return objectCanTerminate(location, finite, refs) && arrayCanTerminate(location, finite, refs);
}

function objectCanTerminate(
  { schema, pointer }: SchemaLocation,
  finite: ReadonlySet<string>,
  refs: References,
): boolean {
  if (!isJsonObject(schema)) return true;
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const names: unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const can = (inner: unknown, ...steps: string[]) =>
    canTerminate({ schema: inner, pointer: pointerTo(pointer, ...steps) }, finite, refs);
  const extra = schema.additionalProperties ?? true;
  const required = names.filter((name) => typeof name === "string");
  const every = required.every((name) =>
    Object.hasOwn(properties, name) ? can(properties[name], "properties", name) : can(extra, "additionalProperties"),
  );
  if (!every || required.length > 0 || !(Number(schema.minProperties) > 0)) return every;
  const patterns = isJsonObject(schema.patternProperties) ? schema.patternProperties : {};
  return (
    can(extra, "additionalProperties") ||
    Object.entries(properties).some(([name, inner]) => can(inner, "properties", name)) ||
    Object.entries(patterns).some(([name, inner]) => can(inner, "patternProperties", name))
  );
}

function arrayCanTerminate(
  { schema, pointer }: SchemaLocation,
  finite: ReadonlySet<string>,
  refs: References,
): boolean {
  if (!isJsonObject(schema)) return true;
  const prefix: unknown[] = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const prefixTerminates = prefix.every((item, index) =>
    canTerminate({ schema: item, pointer: pointerTo(pointer, "prefixItems", index) }, finite, refs),
  );
  const minItems = typeof schema.minItems === "number" ? schema.minItems : 0;
  if (!prefixTerminates || minItems <= prefix.length || !("items" in schema)) return prefixTerminates;
  return canTerminate({ schema: schema.items, pointer: pointerTo(pointer, "items") }, finite, refs);
}
