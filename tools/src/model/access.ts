import { deref, typesOf } from "./openapi.js";
import type { OpenApi, OperationObject, Schema } from "./openapi.js";
import type { Parameter } from "./parameters.js";
import type { Body } from "./payloads.js";
import { at } from "./pointer.js";
import { UnsupportedSpecError } from "./unsupported-spec-error.js";

/** What a key needs for an operation (`x-heddle-access`). */
export interface Access {
  right: Right;
  project: ProjectLocation;
}

type Right = (typeof rights)[number];

/**
 * Where a request names the project that the right is needed in.
 * An object: one project, at these steps of the body or in these parameters (two are joined by a slash). `entity` is the
 * optional member of the body with the entity, where `at` is only the project's name; the default is the caller's entity.
 * `record`: the id of a record names no project; the handler looks it up.
 * `items`: each item names its own; refused items do not affect the others.
 * `several`: references to any number of projects; those without the right are left out.
 * `none`: the operation belongs to no project.
 */
type ProjectLocation =
  | { in: "body" | "query" | "header" | "path"; at: string[]; entity?: string }
  | "record"
  | "items"
  | "several"
  | "none";

const rights = ["read", "write", "admin"] as const;

/** Reads and checks the declaration. Public operations have none, all others must have one. */
export function readAccess(
  document: OpenApi,
  operation: OperationObject,
  { pointer, isPublic, params, body }: { pointer: string; isPublic: boolean; params: Parameter[]; body?: Body },
): Access | undefined {
  const declared = operation["x-heddle-access"];
  if (isPublic) {
    if (declared === undefined) return undefined;
    throw new UnsupportedSpecError(at(pointer, "x-heddle-access"), "a public operation needs no access");
  }
  if (declared === undefined) {
    throw new UnsupportedSpecError(
      pointer,
      "x-heddle-access is missing: state which right the operation needs in which project",
    );
  }
  const where = at(pointer, "x-heddle-access");
  const right = rights.find((candidate) => candidate === declared.right);
  if (right === undefined) throw new UnsupportedSpecError(at(where, "right"), `a right is one of ${rights.join(", ")}`);
  return { right, project: readLocation(document, declared.project, { pointer: where, params, body }) };
}

function readLocation(
  document: OpenApi,
  text: unknown,
  { pointer, params, body }: { pointer: string; params: Parameter[]; body: Body | undefined },
): ProjectLocation {
  const where = at(pointer, "project");
  if (text === "record" || text === "items" || text === "several" || text === "none") return text;
  const hasParameter = (location: string, name: string) =>
    params.some((param) => param.in === location && param.name === name && param.required);
  if (text === "path") {
    const names = ["entity", "project"];
    if (names.every((name) => hasParameter("path", name))) return { in: "path", at: names };
    throw new UnsupportedSpecError(where, "the path does not contain {entity} and {project}");
  }
  const [location, ...steps] = typeof text === "string" ? text.split(".") : [];
  const [name = ""] = steps;
  if ((location === "query" || location === "header") && steps.length === 1) {
    if (hasParameter(location, name)) return { in: location, at: steps };
    throw new UnsupportedSpecError(where, `"${name}" is not a required parameter of the ${location}`);
  }
  if (text === "body" && body?.schema !== undefined) {
    requireText(document, body.schema, ["project"], where);
    return { in: "body", at: ["project"], entity: "entity" };
  }
  if (location === "body" && steps.length > 0 && body?.schema !== undefined) {
    if (body.streamed) throw new UnsupportedSpecError(where, "a body that the handler reads cannot name the project");
    requireText(document, body.schema, steps, where);
    return { in: "body", at: steps };
  }
  throw new UnsupportedSpecError(
    where,
    "the project is at body, body.…, query.…, header.…, path, or it is record, items, several or none",
  );
}

/** Every step is a required property, and the last one a string. */
function requireText(document: OpenApi, schema: Schema, steps: readonly string[], pointer: string): void {
  let current = deref<Schema>(document, schema, pointer).value;
  for (const step of steps) {
    const property = requiredProperty(document, current, step, pointer);
    if (property === undefined) throw new UnsupportedSpecError(pointer, `"${step}" is not a required property`);
    current = property;
  }
  if (typesOf(current).join() !== "string")
    throw new UnsupportedSpecError(pointer, `"${steps.join(".")}" is not a string`);
}

/** The schema of a property that one part of a schema, itself or in its `allOf`, has and requires. */
function requiredProperty(document: OpenApi, schema: Schema, name: string, pointer: string): Schema | undefined {
  const { properties, required, allOf = [] } = deref<Schema>(document, schema, pointer).value;
  const property = properties?.[name];
  if (property !== undefined && required?.includes(name) === true) {
    return deref<Schema>(document, property, pointer).value;
  }
  for (const part of allOf) {
    const found = requiredProperty(document, part, name, pointer);
    if (found !== undefined) return found;
  }
  return undefined;
}
