import { HeddleError } from "@heddle/errors";
import { BodyTooLarge, Problem, readCredentials } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse, HttpServer } from "@heddle/server-stub";
import { authenticate } from "../access/authenticate.js";
import { enterRoute } from "../limits/request-scope.js";
import type { Services } from "../services.js";
import { contextOf } from "./graphql-context.js";
import { runGraphql } from "./graphql.js";
import type { Query } from "./graphql-select.js";

const maxBytes = 32 * 1024 * 1024;

/**
 * `POST /graphql`; everything else goes on to `next`. An error becomes the problem that `onError` returns, or a 500.
 */
export function graphqlRoute(
  services: Services,
  onError: (error: unknown) => Problem | undefined,
  next: HttpServer,
): HttpServer {
  return async (request) => {
    const path = request.target.split("?", 1)[0]?.replace(/^\/+/, "/");
    if (path !== "/graphql") return next(request);
    enterRoute("graphql", path);
    try {
      if (request.method !== "POST") throw new Problem(405, "POST is possible here", { headers: { allow: "POST" } });
      const caller = await authenticate(services.control, readCredentials(request));
      return json(200, await runGraphql(await readRequest(request), contextOf(services, caller, request)));
    } catch (error) {
      const problem = onError(error) ?? new Problem(500, "Internal server error");
      return json(problem.status, { errors: [{ message: problem.message }] }, problem.headers);
    }
  };
}

async function readRequest(request: HttpRequest): Promise<Query> {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder().decode(await request.bytes(maxBytes)));
  } catch (error) {
    if (error instanceof BodyTooLarge) throw new HeddleError("too_large", `at most ${maxBytes} bytes`);
    if (error instanceof SyntaxError) throw new HeddleError("invalid", "the body must be JSON");
    throw error;
  }
  if (typeof body !== "object" || body === null || !("query" in body) || typeof body.query !== "string") {
    throw new HeddleError("invalid", 'the body must be {"query": "…", "variables": {…}}');
  }
  const variables =
    "variables" in body && typeof body.variables === "object" && body.variables !== null ? body.variables : {};
  const named = "operationName" in body && typeof body.operationName === "string" ? body.operationName : undefined;
  return { query: body.query, variables: { ...variables }, ...(named !== undefined && { operationName: named }) };
}

function json(status: number, body: unknown, headers: Record<string, string> = {}): HttpResponse {
  return {
    status,
    headers: {
      "content-type": "application/json",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "cache-control": "no-store",
      ...headers,
    },
    body: JSON.stringify(body),
  };
}
