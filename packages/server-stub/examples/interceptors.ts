import { onResponseEnd } from "@heddle/server-stub";
import type { Interceptor } from "@heddle/server-stub";
import { createTracingServer } from "@heddle/server-stub/tracing";
import { handlers } from "./calls.js";

const logged: Interceptor = (next) => async (request, context) => {
  const began = performance.now();
  const response = await next(request, context);
  return onResponseEnd(response, (end) =>
    console.log(context.operation?.id, response.status, end, performance.now() - began),
  );
};
export const server = createTracingServer({ calls: handlers }, { interceptors: [logged] });
