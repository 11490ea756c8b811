import type { Caller } from "@heddle/control-plane";
import { hasRole } from "@heddle/control-plane";
import type { FairShare, Release } from "@heddle/concurrency";
import { ClientDisconnected, errorResponse, Problem, securityHeaders } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse, HttpServer, Sink } from "@heddle/server-stub";
import { authorize, forbidden } from "../access/authorize.js";
import { reservedEntities } from "../access/reserved-entities.js";
import { currentSharer, enterRoute } from "../limits/request-scope.js";
import { errorForms } from "./error-forms.js";
import { readJsonBody } from "./json-body.js";
import type { JsonBodyLimits } from "./json-body.js";
import { withUnknownParameters } from "./unknown-parameters.js";
import { pathOf, pathPattern } from "./path-pattern.js";
import type { PathPattern } from "./path-pattern.js";
import type { KeyAccess, KeyedRequest, Route, RouteHandler } from "./route.js";

export interface RouteOptions {
  authenticate: (request: HttpRequest) => Promise<Caller>;
  /** Returns what an error means to the client; undefined is a 500. */
  onError: (error: unknown) => Problem | undefined;
  /** Throws for a project that cannot be used at the moment, once the caller has the right in it. */
  checkProject?: (projectId: string) => void;
  /** Slots of requests that work on the main thread. */
  turns: FairShare;
}

/** A route and what serves it. */
export interface OpenedRoute {
  route: Omit<Route, "open">;
  /** Gets a caller where the access of the route asks for one. */
  handle: RouteHandler<KeyedRequest>;
}

interface Served extends OpenedRoute {
  patterns: PathPattern[];
}

/** The routes that the settings do not leave out. */
export function openRoutes<Site>(routes: Iterable<Route<Site>>, site: Site): OpenedRoute[] {
  return [...routes].flatMap((route) => {
    const handle = route.open(site);
    return handle === undefined ? [] : [{ route, handle }];
  });
}

/**
 * Serves routes that the spec does not describe, as the server of the spec serves operations: path and method, key and
 * right before anything is read, security headers, and every error in one place. Everything else goes on to `next`.
 */
export function serveRoutes(routes: readonly OpenedRoute[], options: RouteOptions, next: HttpServer): HttpServer {
  const byFirstSegment = new Map<string, Served[]>();
  for (const { route, handle } of routes) {
    const served = { route, handle, patterns: route.paths.map(pathPattern) };
    for (const first of new Set(route.paths.map(firstSegment))) {
      byFirstSegment.set(first, [...(byFirstSegment.get(first) ?? []), served]);
    }
  }
  async function firstOfRoutes(among: readonly Served[], path: string, request: HttpRequest): Promise<HttpResponse> {
    for (const served of among) {
      const response = await respond(served, path, request, options);
      if (response !== undefined) return withUnknownParameters(request, response, []);
    }
    return await next(request);
  }

  return (request) => {
    const path = pathOf(request.target);
    const first = firstSegment(path);
    // Paths that begin with an entity are none of an operation or another route.
    const entity = reservedEntities.has(first) ? undefined : byFirstSegment.get("{entity}");
    const among = byFirstSegment.get(first) ?? entity;
    return among === undefined ? next(request) : firstOfRoutes(among, path, request);
  };
}

/** Undefined where the route does not have the path. */
async function respond(
  { route, patterns, handle }: Served,
  path: string,
  request: HttpRequest,
  { authenticate, onError, turns, checkProject }: RouteOptions,
): Promise<HttpResponse | undefined> {
  let release: Release | undefined;
  const turn = async (): Promise<void> => {
    release ??= await turns.acquire(currentSharer(), 1, request.signal);
  };
  const json = async (limits: JsonBodyLimits): Promise<unknown> => await readJsonBody(request, limits, turn);
  try {
    const params = firstOf(patterns, (pattern) => pattern(path));
    if (params === undefined || (route.isPage === true && !asksForPage(request))) return undefined;
    enterRoute(route.id, route.paths[0]);
    checkMethod(route, request.method);
    const { access } = route;
    const caller = typeof access === "string" ? undefined : await authenticate(request);
    if (typeof access !== "string") {
      checkAccess(route.id, access, params, caller as Caller);
      if (access.project === "path") checkProject?.(`${params["entity"]}/${params["project"]}`);
    }
    const response = await handle({ http: request, params, caller: caller as Caller, turn, json });
    return withoutBody(request, { ...response, headers: { ...securityHeaders, ...response.headers } });
  } catch (error) {
    const problem = error instanceof ClientDisconnected ? disconnected : (onError(error) ?? unexpected);
    const unread = route.streamed === true && request.method !== "GET" && request.method !== "HEAD";
    return withoutBody(request, errorResponse(problem, errorForms[route.errors](problem), { unread }));
  } finally {
    release?.();
  }
}

function checkMethod({ methods }: Pick<Route, "methods">, method: string): void {
  const allowed: string[] = methods.flatMap((known) => (known === "GET" ? ["GET", "HEAD"] : [known]));
  if (allowed.includes(method)) return;
  const allow = allowed.join(", ");
  throw new Problem(405, `${method} is not possible here; ${allow} is`, { headers: { allow } });
}

function checkAccess(
  operation: string,
  { right, project }: KeyAccess,
  { entity, project: name }: Readonly<Record<string, string>>,
  caller: Caller,
): void {
  if (project === "path") {
    authorize({ operation, right, project: { id: `${entity}/${name}`, loc: ["path", "project"] } }, caller);
  } else if (!hasRole(caller, right) || (project === "every" && caller.projects !== undefined)) throw forbidden();
}

const firstSegment = (path: string): string => path.split("/", 2)[1] ?? "";

function firstOf<Item, Found>(items: readonly Item[], find: (item: Item) => Found | undefined): Found | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

const disconnected = new Problem(400, "the client disconnected");
const unexpected = new Problem(500, "Internal server error");

const asksForPage = (request: HttpRequest): boolean => request.header("accept")?.includes("text/html") === true;

/** HEAD: the status and headers of the response to GET. */
function withoutBody(request: HttpRequest, response: HttpResponse): HttpResponse {
  if (request.method !== "HEAD") return response;
  const { body, ...head } = response;
  if (typeof body === "function") body(closedSink).catch(() => {});
  return head;
}

/** A stream that is written to it stops at once. */
const closedSink: Sink = { closed: true, write: () => undefined, onClose: (callback) => callback() };
