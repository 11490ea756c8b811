import type { HttpRequest, HttpResponse, HttpServer } from "./http.js";
import { securityHeaders } from "./response/response.js";

export interface OriginOptions {
  /** Origins whose pages may use the server, as browsers send them: `https://app.example.com`. Default: none. */
  origins?: readonly string[];
  /** What the operator changes to allow an origin, for the message of a refused request. */
  setting?: string;
}

/** How long browsers keep the response to a preflight, in seconds. */
const maxAge = "600";
const methods = "GET, HEAD, POST, PUT, PATCH, DELETE";
const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Keeps pages of other origins from using the server with the credentials that a browser has cached. A request that may
 * change state is refused with 403 when a browser says that a page of another origin sent it; requests without `Origin`
 * and `Sec-Fetch-Site` come from other programs and pass. Pages of `origins` may send every request and read every
 * response (CORS): their preflights are responded to here, `next` does not see them.
 */
export function guardOrigins(next: HttpServer, { origins = [], setting }: OriginOptions = {}): HttpServer {
  const allowed = new Set(origins);
  const message = (origin: string): string =>
    `Pages of the origin ${origin} may not use this service` + (setting === undefined ? "" : `; ${setting} allows it`);

  function refusal(request: HttpRequest): HttpResponse {
    const reason = message(request.header("origin") ?? "that the browser did not name");
    const headers = { "content-type": "application/json", ...securityHeaders };
    return { status: 403, headers, body: JSON.stringify({ reason, detail: reason }) };
  }

  async function guarded(request: HttpRequest): Promise<HttpResponse> {
    const origin = request.header("origin");
    if (isPreflight(request)) return allowed.has(origin ?? "") ? preflight(request) : varying(refusal(request));
    if (origin !== undefined && allowed.has(origin)) return readable(await next(request), origin);
    if (!safeMethods.has(request.method) && isForeign(request)) return varying(refusal(request));
    return allowed.size === 0 ? await next(request) : varying(await next(request));
  }

  // Programs that are not pages of a browser are passed on without another promise.
  return (request) => (allowed.size === 0 && isOfNoPage(request) ? next(request) : guarded(request));
}

function isOfNoPage(request: HttpRequest): boolean {
  return request.header("origin") === undefined && request.header("sec-fetch-site") === undefined;
}

function isPreflight(request: HttpRequest): boolean {
  if (request.method !== "OPTIONS" || request.header("origin") === undefined) return false;
  return request.header("access-control-request-method") !== undefined;
}

/**
 * Whether a page of another origin sent the request. `Sec-Fetch-Site` decides where it is, since proxies may change
 * `Host`; browsers leave it out on addresses without TLS other than this machine's.
 */
function isForeign(request: HttpRequest): boolean {
  const site = request.header("sec-fetch-site");
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  const origin = request.header("origin");
  return origin !== undefined && hostOf(origin) !== request.header("host")?.toLowerCase();
}

/** `https://a:8080` → `a:8080`; undefined for "null", the origin of pages that have none. */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

function preflight(request: HttpRequest): HttpResponse {
  return varying({
    status: 204,
    headers: {
      ...securityHeaders,
      "access-control-allow-origin": request.header("origin") ?? "",
      "access-control-allow-methods": methods,
      // A wildcard would not include Authorization.
      "access-control-allow-headers": request.header("access-control-request-headers") ?? "",
      "access-control-max-age": maxAge,
    },
  });
}

/** No `Allow-Credentials`: pages send the key themselves, and what the browser has cached stays unused. */
function readable(response: HttpResponse, origin: string): HttpResponse {
  const cors = { "access-control-allow-origin": origin, "access-control-expose-headers": "*" };
  return varying({ ...response, headers: { ...response.headers, ...cors } });
}

/** Says to caches that the response depends on the origin. */
function varying(response: HttpResponse): HttpResponse {
  const vary = response.headers["vary"];
  return { ...response, headers: { ...response.headers, vary: vary === undefined ? "origin" : `${vary}, origin` } };
}
