import type { ControlPlane } from "@heddle/control-plane";
import { hasRole } from "@heddle/control-plane";
import { Problem, readCredentials } from "@heddle/server-stub";
import type { HttpResponse, HttpServer } from "@heddle/server-stub";
import { authenticate } from "../access/authenticate.js";
import { forbidden } from "../access/authorize.js";
import { enterRoute } from "../limits/request-scope.js";
import type { Metrics } from "./metrics.js";

const path = "/metrics";

/** A server of nothing but the metrics, without a key. */
export function metricsServer(metrics: Metrics): HttpServer {
  return async ({ method, target }) => {
    if (pathOf(target) !== path) return textResponse(404, `The metrics are at ${path}`);
    if (!isRead(method)) return textResponse(405, "The metrics can only be read", { allow: "GET, HEAD" });
    return await metricsResponse(metrics, method);
  };
}

/** `GET /metrics` for keys with the role admin that no project limits; everything else goes on to `next`. */
export function metricsRoute(
  metrics: Metrics,
  control: ControlPlane,
  onError: (error: unknown) => Problem | undefined,
  next: HttpServer,
): HttpServer {
  return async (request) => {
    if (pathOf(request.target) !== path) return await next(request);
    enterRoute("metrics", path);
    try {
      if (!isRead(request.method)) {
        throw new Problem(405, "The metrics can only be read", { headers: { allow: "GET, HEAD" } });
      }
      const caller = await authenticate(control, readCredentials(request));
      if (!hasRole(caller, "admin") || caller.projects !== undefined) throw forbidden();
      return await metricsResponse(metrics, request.method);
    } catch (error) {
      const problem = onError(error) ?? new Problem(500, "Internal server error");
      return textResponse(problem.status, problem.message, problem.headers);
    }
  };
}

async function metricsResponse(metrics: Metrics, method: string): Promise<HttpResponse> {
  const headers = { "content-type": metrics.contentType, "cache-control": "no-store" };
  return { status: 200, headers, ...(method !== "HEAD" && { body: await metrics.text() }) };
}

const pathOf = (target: string): string => target.split("?", 1)[0] ?? "";
const isRead = (method: string): boolean => method === "GET" || method === "HEAD";

function textResponse(status: number, text: string, headers: Record<string, string> = {}): HttpResponse {
  return {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff", ...headers },
    body: `${text}\n`,
  };
}
