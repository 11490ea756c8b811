import { HeddleError } from "@heddle/errors";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { listInPieces } from "../http/in-pieces.js";
import { checkSharedTrace } from "../shares/shared-trace.js";
import { reserveForResponse } from "../limits/request-scope.js";
import type { Caller, Services } from "../services.js";

export function traceHandlers({ store }: Services): TracingHandlers<Caller>["traces"] {
  return {
    async traceOutline({ body, signal }, caller) {
      checkSharedTrace(caller, body.trace_id);
      if (caller.share !== undefined && body.include?.includes("digests") === true)
        throw new HeddleError("forbidden", "a share has no digests of what it may hide", { loc: ["include"] });
      const outline = await store.traces.outline(body, { signal, reserve: reserveForResponse(["limit"]) });
      return {
        ...outline,
        seq: String(outline.seq),
        ids: listInPieces(outline.ids),
        parent: listInPieces(outline.parent),
        name: listInPieces(outline.name),
        kind: listInPieces(outline.kind),
        status: listInPieces(outline.status),
        start_us: listInPieces(outline.start_us),
        end_us: listInPieces(outline.end_us),
        tokens: listInPieces(outline.tokens),
        children: listInPieces(outline.children),
        ...(outline.cost && { cost: listInPieces(outline.cost) }),
        ...(outline.size && { size: listInPieces(outline.size) }),
        ...(outline.input_digest && { input_digest: listInPieces(outline.input_digest) }),
        ...(outline.output_digest && { output_digest: listInPieces(outline.output_digest) }),
      };
    },
  };
}
