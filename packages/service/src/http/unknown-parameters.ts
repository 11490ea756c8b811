import type { Caller } from "@heddle/control-plane";
import type { HttpRequest, HttpResponse, Interceptor } from "@heddle/server-stub";
import { closestName } from "../closest-name.js";

const namedParameters = 10;
const namedCharacters = 64;

/** Reports the parameters that an operation does not read; routes beside the spec read none. */
export const reportUnknownParameters: Interceptor<Caller> = (next) => (request, context) => {
  const { operation } = context;
  const responding = next(request, context);
  if (operation === undefined || !request.target.includes("?")) return responding;
  const known = (operation.query?.entries ?? []).map(({ name }) => name);
  return responding.then((response) => withUnknownParameters(request, response, known));
};

/**
 * Adds `X-Heddle-Unknown-Parameters` to the response where the query has parameters that are not read: the result looks as if
 * they applied. They are not refused, since proxies and client libraries add parameters of their own.
 */
export function withUnknownParameters(
  { target }: HttpRequest,
  response: HttpResponse,
  known: readonly string[],
): HttpResponse {
  const mark = target.indexOf("?");
  if (mark < 0) return response;
  const given = new Set(new URLSearchParams(target.slice(mark)).keys());
  const unknown = [...given].filter((name) => !known.includes(name)).slice(0, namedParameters);
  if (unknown.length === 0) return response;
  const named = unknown.map((name) => {
    const text = Array.from(name).slice(0, namedCharacters).join("");
    const meant = closestName(text, known);
    return encodeURIComponent(text) + (meant === undefined ? "" : ` (${meant}?)`);
  });
  return { ...response, headers: { ...response.headers, "x-heddle-unknown-parameters": named.join(", ") } };
}
