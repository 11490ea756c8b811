import type { SchemaLocation } from "./keywords.js";
import { invalidSchema, isObject, pointerTo } from "./keywords.js";
import type { References } from "./references.js";
import { sameValueLocations } from "./references.js";

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
  const visit = (location: SchemaLocation): void => {
    const { schema, pointer } = location;
    if (!isObject(schema)) return;
    if ("$ref" in schema) {
      const target = refs.target(schema.$ref, pointer);
      if (targets.has(target.pointer)) return;
      targets.set(target.pointer, target);
      visit(target);
      return;
    }
    for (const part of parts(location, refs)) visit(part);
  };
  visit(root);
  return targets;
}

/** Returns the schemas of the value and of the values in it. */
function parts(location: SchemaLocation, refs: References): SchemaLocation[] {
  const { schema, pointer } = location;
  if (!isObject(schema)) return [];
  const inner: SchemaLocation[] = sameValueLocations(location, refs);
  for (const keyword of ["additionalProperties", "unevaluatedProperties", "items", "unevaluatedItems"]) {
    if (isObject(schema[keyword])) inner.push({ schema: schema[keyword], pointer: pointerTo(pointer, keyword) });
  }
  for (const keyword of ["properties", "prefixItems"]) {
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
  if (!isObject(schema)) return schema !== false;
  if ("$ref" in schema) return finite.has(refs.target(schema.$ref, pointer).pointer);
  const branches = sameValueLocations(location, refs);
  if (branches.length > 0) return branches.some((branch) => canTerminate(branch, finite, refs));
  const otherType = Array.isArray(schema.type) && schema.type.some((type) => type !== "object" && type !== "array");
  if (otherType) return true;
  return objectCanTerminate(location, finite, refs) && arrayCanTerminate(location, finite, refs);
}

function objectCanTerminate(
  { schema, pointer }: SchemaLocation,
  finite: ReadonlySet<string>,
  refs: References,
): boolean {
  if (!isObject(schema) || !isObject(schema.properties) || !Array.isArray(schema.required)) return true;
  const { properties } = schema;
  const names: unknown[] = schema.required;
  return names.every(
    (name) =>
      typeof name !== "string" ||
      canTerminate({ schema: properties[name], pointer: pointerTo(pointer, "properties", name) }, finite, refs),
  );
}

function arrayCanTerminate(
  { schema, pointer }: SchemaLocation,
  finite: ReadonlySet<string>,
  refs: References,
): boolean {
  if (!isObject(schema)) return true;
  const prefix: unknown[] = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const prefixTerminates = prefix.every((item, index) =>
    canTerminate({ schema: item, pointer: pointerTo(pointer, "prefixItems", index) }, finite, refs),
  );
  const minItems = typeof schema.minItems === "number" ? schema.minItems : 0;
  if (!prefixTerminates || minItems <= prefix.length || !("items" in schema)) return prefixTerminates;
  return canTerminate({ schema: schema.items, pointer: pointerTo(pointer, "items") }, finite, refs);
}
