import { ItemError } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { internalProjects } from "../internal-refs.js";
import type { Caller, Services } from "../services.js";
import { completeOf, endOf, startOf } from "./call-parts.js";
import { writeBatch, writeOne } from "./write-calls.js";

/** The v2 write path: the project stands in the path and wins over one in the body. */
export function completeCallHandlers(services: Services): TracingHandlers<Caller>["completeCalls"] {
  const { control } = services;
  return {
    async callsComplete({ params, body }, caller) {
      const project_id = `${params.entity}/${params.project}`;
      const outcomes = await writeBatch(
        services,
        body.batch,
        (item, context) => ({ part: "complete", ...completeOf({ ...item, project_id }, context) }),
        { caller, retry_id: undefined },
      );
      const errors = outcomes.flatMap((outcome, index) =>
        outcome instanceof ItemError ? [{ index, loc: outcome.loc, msg: outcome.msg, type: outcome.type }] : [],
      );
      return errors.length === 0 ? {} : { errors };
    },

    async callStartV2({ params, body, headers }, caller) {
      const project_id = `${params.entity}/${params.project}`;
      const projectOf = await internalProjects(control, caller, body);
      const context = {
        user_id: caller.user_id,
        retry_id: headers["X-Weave-Retry-Id"],
        index: 0,
        loc: ["body", "start"],
        projectOf,
      };
      const start = startOf({ ...body.start, project_id }, context);
      await writeOne(services, caller, { part: "start", start });
      return { id: start.id, trace_id: start.trace_id };
    },

    async callEndV2({ params, body }, caller) {
      const project_id = `${params.entity}/${params.project}`;
      const projectOf = await internalProjects(control, caller, body);
      const context = { user_id: caller.user_id, retry_id: undefined, index: 0, loc: ["body", "end"], projectOf };
      await writeOne(services, caller, { part: "end", end: endOf({ ...body.end, project_id }, context) });
      return {};
    },
  };
}
