import { ItemError } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import type { Caller, Services } from "../services.js";
import { completeOf } from "../wire/call-parts.js";
import { writeBatch, writeEnd, writeStart } from "../ingest/write-calls.js";

/** The v2 write path: the project is in the path and overrides one in the body. */
export function completeCallHandlers(services: Services): TracingHandlers<Caller>["completeCalls"] {
  return {
    async callsComplete({ params, body }, caller) {
      const projectId = `${params.entity}/${params.project}`;
      const outcomes = await writeBatch(
        services,
        body.batch,
        {
          locOf: () => [],
          partOf: (item, context) => ({ part: "complete", ...completeOf({ ...item, project_id: projectId }, context) }),
        },
        { caller, retryId: undefined },
      );
      const errors = outcomes.flatMap((outcome, index) =>
        outcome instanceof ItemError ? [{ index, loc: outcome.loc, msg: outcome.msg, type: outcome.type }] : [],
      );
      return errors.length === 0 ? {} : { errors };
    },

    async callStartV2({ params, body, headers }, caller) {
      const projectId = `${params.entity}/${params.project}`;
      return writeStart(
        services,
        { ...body.start, project_id: projectId },
        { caller, retryId: headers["X-Weave-Retry-Id"] },
      );
    },

    async callEndV2({ params, body }, caller) {
      await writeEnd(services, { ...body.end, project_id: `${params.entity}/${params.project}` }, caller);
      return {};
    },
  };
}
