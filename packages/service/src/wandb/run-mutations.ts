import type { TrackingRunFields } from "@heddle/control-plane";
import { ensureProject } from "../access/authorize.js";
import { objectIn, projectIn, requiredText, textIn, textsIn } from "./graphql/arguments.js";
import { requireWrite } from "./graphql-context.js";
import type { GraphqlContext } from "./graphql-context.js";
import type { Arguments } from "./graphql/document.js";
import type { Fields } from "./graphql/select.js";
import { encodeId } from "./ids.js";
import { runFields } from "./run-fields.js";

/** What `wandb.init`, the logging of metrics and the end of a run need. */
export function runMutations(context: GraphqlContext): Fields {
  const { control } = context.services;
  return {
    async upsertBucket(args: Arguments) {
      const input = objectIn(args, "input");
      const projectId = projectIn(input, context.entity, "modelName");
      requireWrite(context, projectId);
      await ensureProject(control, projectId);
      const named = { project_id: projectId, name: requiredText(input, "name"), created_by: context.caller.user_id };
      const { run, created } = await control.trackingRuns.upsert(named, fieldsOf(input), context.work.reserve);
      return { bucket: runFields(context, run), inserted: created };
    },

    /** Files of runs, such as the console output, are not kept: there is no URL to send them to. */
    async createRunFiles(args: Arguments) {
      const input = objectIn(args, "input");
      const projectId = projectIn(input, context.entity);
      requireWrite(context, projectId);
      const run = await control.trackingRuns.get(projectId, textIn(input, "runName") ?? "", context.work.reserve);
      return { runID: run === undefined ? null : encodeId("Run", run.id), uploadHeaders: [], files: [] };
    },
  };
}

function fieldsOf(input: Arguments): TrackingRunFields {
  const tags = textsIn(input, "tags");
  const texts = {
    display_name: textIn(input, "displayName"),
    description: textIn(input, "description"),
    notes: textIn(input, "notes"),
    group: textIn(input, "groupName"),
    job_type: textIn(input, "jobType"),
    state: textIn(input, "state"),
    config: textIn(input, "config"),
    summary: textIn(input, "summaryMetrics"),
  };
  const given = Object.entries(texts).filter(([, text]) => text !== undefined);
  return { ...(Object.fromEntries(given) as TrackingRunFields), ...(tags && { tags }) };
}
