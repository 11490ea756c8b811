import { rawJson } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { externalRef } from "@heddle/trace-model";
import { mayRead } from "../access/authorize.js";
import { reserveForResponse } from "../limits/request-scope.js";
import { internalProjects } from "../wire/internal-refs.js";
import type { Caller, Services } from "../services.js";

export function refHandlers({ control, store }: Services): TracingHandlers<Caller>["refs"] {
  return {
    async refsReadBatch({ body, signal }, caller) {
      const projectOf = await internalProjects(control, caller, body.refs);
      const refs = body.refs.map((ref) => externalRef(ref, projectOf));
      const vals = await store.refs.readBatch(refs, {
        mayRead: (projectId) => mayRead(caller, projectId),
        signal,
        reserve: reserveForResponse(["refs"]),
      });
      return { vals: vals.map((val) => rawJson(val ?? "null")) };
    },
  };
}
