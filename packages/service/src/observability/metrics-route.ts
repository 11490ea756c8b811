import { Problem, securityHeaders } from "@heddle/server-stub";
import type { HttpResponse, HttpServer } from "@heddle/server-stub";
import { defaultLimits } from "../config/config.js";
import { openTurns } from "../limits/shares.js";
import type { KeyedRoute } from "../http/route.js";
import { serveRoutes } from "../http/serve-routes.js";
import type { Metrics } from "./metrics.js";

/** `GET /metrics` for keys with the role admin that no project limits. */
export const metricsRoute: KeyedRoute<{ metrics: Metrics | undefined }> = {
  id: "metrics",
  paths: ["/metrics"],
  methods: ["GET"],
  access: { right: "admin", project: "every" },
  errors: "text",
  open: ({ metrics }) => metrics && (async () => await metricsResponse(metrics)),
};

/** A server of nothing but the metrics, without a key. */
export function metricsServer(metrics: Metrics): HttpServer {
  const route = { ...metricsRoute, access: "public" } as const;
  const handle = async () => await metricsResponse(metrics);
  const onError = (error: unknown) => (error instanceof Problem ? error : undefined);
  const options = { authenticate: noKeys, onError, turns: openTurns(defaultLimits) };
  return serveRoutes([{ route, handle }], options, async () => unknown);
}

async function metricsResponse(metrics: Metrics): Promise<HttpResponse> {
  return { status: 200, headers: { "content-type": metrics.contentType }, body: await metrics.text() };
}

const unknown: HttpResponse = {
  status: 404,
  headers: { "content-type": "text/plain; charset=utf-8", ...securityHeaders },
  body: `The metrics are at ${metricsRoute.paths[0]}\n`,
};

async function noKeys(): Promise<never> {
  throw new Problem(401, "Keys are not known here");
}
