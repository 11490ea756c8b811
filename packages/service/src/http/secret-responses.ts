import type { Caller } from "@heddle/control-plane";
import type { Interceptor } from "@heddle/server-stub";

/**
 * Says of responses that hold a secret that nothing may compress them: the length of a secret that is compressed together
 * with what others have chosen tells about it.
 */
export const keepSecretsWhole: Interceptor<Caller> = (next) => async (request, context) => {
  const response = await next(request, context);
  if (context.operation?.response.secret !== true) return response;
  return { ...response, headers: { ...response.headers, "cache-control": "no-store, no-transform" } };
};
