import type { Access } from "./access.js";
import type { OperationEntry } from "./definition.js";
import type { HttpRequest } from "../http.js";
import type { RequestContext } from "./interceptors.js";
import { Problem } from "../problem.js";
import { createRouter } from "./router.js";
import type { Match } from "./router.js";

/** A request whose path was looked up, with what becomes known about it. */
export interface Routed<Caller> extends RequestContext<Caller> {
  caller: Caller | undefined;
  access: Access | undefined;
  error: unknown;
  /** No operation has this path. */
  readonly isUnknown: boolean;
  /** Thrown where there is no operation. */
  readonly refusal: unknown;
  /** Of the path. */
  readonly params: Record<string, string>;
  /** After the question mark. */
  readonly query: string;
}

/** Finds the operation of a request: HEAD is that of GET. */
export function requestRouter<Caller>(
  operations: readonly OperationEntry[],
  prefixes: readonly string[] | undefined,
): (request: HttpRequest) => Routed<Caller> {
  const find = createRouter(
    operations.flatMap((entry) => entry.paths.map((path) => ({ method: entry.method, path, entry }))),
    prefixes,
  );
  return ({ target, method }) => {
    const mark = target.indexOf("?");
    try {
      const match = find(mark < 0 ? target : target.slice(0, mark));
      if (match === undefined) return refused(new Problem(404, "no such path"), true);
      const entry = match.methods.get(method) ?? (method === "HEAD" ? match.methods.get("GET") : undefined);
      if (entry === undefined) return refused(methodNotAllowed(method, match));
      return {
        operation: entry,
        caller: undefined,
        access: undefined,
        error: undefined,
        isUnknown: false,
        refusal: undefined,
        params: match.params,
        query: mark < 0 ? "" : target.slice(mark + 1),
      };
    } catch (error) {
      return refused(error);
    }
  };
}

function refused<Caller>(refusal: unknown, isUnknown = false): Routed<Caller> {
  return {
    operation: undefined,
    caller: undefined,
    access: undefined,
    error: undefined,
    isUnknown,
    refusal,
    params: {},
    query: "",
  };
}

function methodNotAllowed(method: string, { methods }: Match<OperationEntry>): Problem {
  const allow = [...methods.keys(), ...(methods.has("GET") ? ["HEAD"] : [])].join(", ");
  return new Problem(405, `${method} is not possible here; ${allow} is`, { headers: { allow } });
}
