import { invalidSchema, isObject, type Place, pointerTo } from "./keywords.js";
import { type References, sameValuePlaces } from "./references.js";

/**
 * Refuses schemas that refer to themselves without end: `$ref`s that lead back to the same value, and values that would have to
 * contain themselves. The schema's keywords were checked before.
 */
export function checkEnds(root: Place, refs: References): void {
  const targets = reachableTargets(root, refs);
  const done = new Set<string>();
  for (const place of [root, ...targets.values()]) checkLoop(place, new Set(), done, refs);

  const finite = new Set<string>();
  for (let grown = true; grown;) {
    grown = false;
    for (const [pointer, place] of targets) {
      if (finite.has(pointer) || !canEnd(place, finite, refs)) continue;
      finite.add(pointer);
      grown = true;
    }
  }
  if (!canEnd(root, finite, refs)) {
    throw invalidSchema(root.pointer, "its references require a value that contains itself, without end");
  }
  const endless = [...targets].find(([pointer]) => !finite.has(pointer));
  if (endless) throw invalidSchema(endless[0], "its references require a value that contains itself, without end");
}

/** The targets of all `$ref`s that can be reached, by pointer. */
function reachableTargets(root: Place, refs: References): Map<string, Place> {
  const targets = new Map<string, Place>();
  const visit = (place: Place): void => {
    const { schema, pointer } = place;
    if (!isObject(schema)) return;
    if ("$ref" in schema) {
      const target = refs.target(schema.$ref, pointer);
      if (targets.has(target.pointer)) return;
      targets.set(target.pointer, target);
      visit(target);
      return;
    }
    for (const part of parts(place, refs)) visit(part);
  };
  visit(root);
  return targets;
}

/** Schemas of the value itself and of what it contains. */
function parts(place: Place, refs: References): Place[] {
  const { schema, pointer } = place;
  if (!isObject(schema)) return [];
  const inner: Place[] = sameValuePlaces(place, refs);
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

function checkLoop(place: Place, path: Set<string>, done: Set<string>, refs: References): void {
  if (path.has(place.pointer)) throw invalidSchema(place.pointer, "it refers to itself and says nothing else");
  if (done.has(place.pointer)) return;
  path.add(place.pointer);
  for (const next of sameValuePlaces(place, refs)) checkLoop(next, path, done, refs);
  path.delete(place.pointer);
  done.add(place.pointer);
}

/** Whether some value that satisfies the schema is of finite size, when those of `finite` are. */
function canEnd(place: Place, finite: ReadonlySet<string>, refs: References): boolean {
  const { schema, pointer } = place;
  if (!isObject(schema)) return schema !== false;
  if ("$ref" in schema) return finite.has(refs.target(schema.$ref, pointer).pointer);
  const branches = sameValuePlaces(place, refs);
  if (branches.length > 0) return branches.some((branch) => canEnd(branch, finite, refs));
  const otherType = Array.isArray(schema.type) && schema.type.some((type) => type !== "object" && type !== "array");
  if (otherType) return true;
  return objectCanEnd(place, finite, refs) && arrayCanEnd(place, finite, refs);
}

function objectCanEnd({ schema, pointer }: Place, finite: ReadonlySet<string>, refs: References): boolean {
  if (!isObject(schema) || !isObject(schema.properties) || !Array.isArray(schema.required)) return true;
  const { properties } = schema;
  const names: unknown[] = schema.required;
  return names.every(
    (name) =>
      typeof name !== "string" ||
      canEnd({ schema: properties[name], pointer: pointerTo(pointer, "properties", name) }, finite, refs),
  );
}

function arrayCanEnd({ schema, pointer }: Place, finite: ReadonlySet<string>, refs: References): boolean {
  if (!isObject(schema)) return true;
  const prefix: unknown[] = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const prefixEnds = prefix.every((item, index) =>
    canEnd({ schema: item, pointer: pointerTo(pointer, "prefixItems", index) }, finite, refs),
  );
  const least = typeof schema.minItems === "number" ? schema.minItems : 0;
  if (!prefixEnds || least <= prefix.length || !("items" in schema)) return prefixEnds;
  return canEnd({ schema: schema.items, pointer: pointerTo(pointer, "items") }, finite, refs);
}
