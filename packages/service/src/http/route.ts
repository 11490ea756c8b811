import type { Caller, Role } from "@heddle/control-plane";
import type { HttpRequest, HttpResponse } from "@heddle/server-stub";
import type { ErrorForm } from "./error-forms.js";
import type { JsonBodyLimits } from "./json-body.js";

interface RouteRequest {
  http: HttpRequest;
  /** Of the path. */
  params: Readonly<Record<string, string>>;
  /**
   * Waits for the turn of the key, which ends with the handler: few requests work at the same time. Throws 429 and 503.
   */
  turn: () => Promise<void>;
}

export interface KeyedRequest extends RouteRequest {
  caller: Caller;
  /** Reads the body as JSON, and waits for the turn. Throws 400, 413, 415, 429 and 503. */
  json: (limits: JsonBodyLimits) => Promise<unknown>;
}

export type RouteHandler<Request> = (request: Request) => Promise<HttpResponse>;

/** What a route needs of a key, as `x-heddle-access` says it of an operation. */
export interface KeyAccess {
  right: Role;
  /**
   * `path`: the parameters `entity` and `project` name it. `fields`: each field names its own, which its resolver checks.
   * `every`: the key must not be limited to some projects.
   */
  project: "path" | "fields" | "every";
}

interface RouteEntry {
  /** As in logs and metrics. */
  id: string;
  /**
   * The first is that of logs and metrics. `{name}` is one segment, decoded; `{name*}` is the rest as it was sent.
   * Repeated slashes count as one.
   */
  paths: readonly [string, ...string[]];
  /** GET includes HEAD. */
  methods: readonly ("GET" | "POST" | "PUT")[];
  /** How errors are written. */
  errors: ErrorForm;
  /** The handler reads the body as it arrives: an error leaves the rest of it unread. */
  streamed?: true;
  /** Is there for who asks for a page, as browsers do; other requests go on to what is next. */
  isPage?: true;
}

/** `public`: everybody may. `signed`: the path holds a signature, which the handler checks. */
export interface OpenRoute<Site = unknown> extends RouteEntry {
  access: "public" | "signed";
  /** Undefined where the settings leave the route out. */
  open(site: Site): RouteHandler<RouteRequest> | undefined;
}

export interface KeyedRoute<Site = unknown> extends RouteEntry {
  access: KeyAccess;
  open(site: Site): RouteHandler<KeyedRequest> | undefined;
}

/** A route that the spec does not describe, and what it is made of. */
export type Route<Site = unknown> = OpenRoute<Site> | KeyedRoute<Site>;
