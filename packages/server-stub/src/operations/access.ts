import type { AccessEntry, OperationEntry } from "./definition.js";

/** What an operation needs of a key (`x-heddle-access` of the spec), as `authorize` gets it. */
export interface Access {
  /** The operationId. */
  operation: string;
  right: AccessEntry["right"];
  /**
   * The project that the request names, with its location in the request. Otherwise: `record` where the request names a
   * record by its id and the handler finds out its project, `items` where each item names its own and the handler checks
   * them, `several` where the response leaves out what the key may not read, `none` where no
   * project is involved.
   */
  project: NamedProject | "record" | "items" | "several" | "none";
}

export interface NamedProject {
  /** `entity/project` */
  id: string;
  /** The request leaves out the entity, which is then the caller's: `id` is only the name of the project. */
  ofCaller?: true;
  /** As in 422 responses: `["body", "project_id"]`. */
  loc: readonly string[];
}

/** The parts of a request that may name a project. */
export interface RequestParts {
  params: object;
  query: object;
  headers: object;
  body?: unknown;
}

/** Whether the access is known before the body is read. */
export function isKnownEarly({ project }: AccessEntry): boolean {
  return typeof project === "string" || project.in !== "body";
}

/** Reads what the request, which fits the spec, needs. */
export function accessOf({ id }: OperationEntry, { right, project }: AccessEntry, request: RequestParts): Access {
  if (typeof project === "string") return { operation: id, right, project };
  const { in: location, at, entity } = project;
  if (location === "path") {
    const names = at.map((name) => textAt(request.params, [name]));
    return { operation: id, right, project: { id: names.join("/"), loc: [location, at.at(-1) ?? ""] } };
  }
  if (entity !== undefined) {
    const [owner, name] = [textAt(request.body, [entity]), textAt(request.body, at)];
    const loc = [location, ...at];
    const named: NamedProject = owner === "" ? { id: name, ofCaller: true, loc } : { id: `${owner}/${name}`, loc };
    return { operation: id, right, project: named };
  }
  const part = { body: request.body, query: request.query, header: request.headers }[location];
  return { operation: id, right, project: { id: textAt(part, at), loc: [location, ...at] } };
}

/** The text at these steps; empty where an optional body is missing. */
function textAt(value: unknown, steps: readonly string[]): string {
  let current = value;
  for (const step of steps) current = (current as Record<string, unknown> | null | undefined)?.[step];
  return typeof current === "string" ? current : "";
}
