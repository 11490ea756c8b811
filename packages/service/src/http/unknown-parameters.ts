import type { Caller } from "@heddle/control-plane";
import type { Interceptor } from "@heddle/server-stub";
import { closestName } from "../closest-name.js";

const namedParameters = 10;
const namedCharacters = 64;

/**
 * Adds `X-Heddle-Unknown-Parameters` to the response where the query has parameters that the operation does not read: its
 * result looks as if they applied. They are not refused, since proxies and client libraries add parameters of their own.
 */
export const reportUnknownParameters: Interceptor<Caller> = (next) => async (request, context) => {
  const response = await next(request, context);
  const { operation } = context;
  const mark = request.target.indexOf("?");
  if (mark < 0 || operation === undefined) return response;
  const known = (operation.query?.entries ?? []).map(({ name }) => name);
  const given = new Set(new URLSearchParams(request.target.slice(mark)).keys());
  const unknown = [...given].filter((name) => !known.includes(name)).slice(0, namedParameters);
  if (unknown.length === 0) return response;
  const named = unknown.map((name) => {
    const text = Array.from(name).slice(0, namedCharacters).join("");
    const meant = closestName(text, known);
    return encodeURIComponent(text) + (meant === undefined ? "" : ` (${meant}?)`);
  });
  return { ...response, headers: { ...response.headers, "x-heddle-unknown-parameters": named.join(", ") } };
};
