import type { Caller } from "@heddle/control-plane";
import type { Interceptor } from "@heddle/server-stub";

/**
 * Says of responses that hold a secret that nothing may compress them: the length of a secret that is compressed together
 * with what others have chosen tells about it.
 */
export const keepSecretsWhole: Interceptor<Caller> = (next) => (request, context) => {
  const responding = next(request, context);
  if (context.operation?.response.secret !== true) return responding;
  return responding.then((response) => ({
    ...response,
    headers: { ...response.headers, "cache-control": "no-store, no-transform" },
  }));
};
