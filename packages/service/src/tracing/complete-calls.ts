import { HeddleError, withLoc } from "@heddle/errors";
import { ItemError } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import type { Caller, Services } from "../services.js";
import { completeOf } from "../wire/call-parts.js";
import { writeBatch, writeEnd, writeStart } from "../ingest/write-calls.js";

/** The v2 write path: the project is in the path, and one in the body has to be the same. */
export function completeCallHandlers(services: Services): TracingHandlers<Caller>["completeCalls"] {
  return {
    async callsComplete({ params, body }, caller) {
      const project = projectOf(params);
      requireOwnItem(body.batch, project);
      const outcomes = await writeBatch(
        services,
        body.batch,
        {
          locOf: () => [],
          partOf: (item, context) => {
            checkProject(item, project);
            return { part: "complete", ...completeOf(item, context) };
          },
        },
        { caller, retryId: undefined },
      );
      const errors = outcomes.flatMap((outcome, index) =>
        outcome instanceof ItemError ? [{ index, loc: outcome.loc, msg: outcome.msg, type: outcome.type }] : [],
      );
      return errors.length === 0 ? {} : { errors };
    },

    async callStartV2({ params, body, headers }, caller) {
      withLoc(["start"], () => checkProject(body.start, projectOf(params)));
      return writeStart(services, body.start, { caller, retryId: headers["X-Weave-Retry-Id"] });
    },

    async callEndV2({ params, body }, caller) {
      withLoc(["end"], () => checkProject(body.end, projectOf(params)));
      await writeEnd(services, body.end, caller);
      return {};
    },
  };
}

function projectOf({ entity, project }: { entity: string; project: string }): string {
  return `${entity}/${project}`;
}

interface OfProject {
  project_id: string;
}

/** Throws `unprocessable` for a call of another project. */
function checkProject({ project_id: projectId }: OfProject, project: string): void {
  if (projectId === project) return;
  throw new HeddleError("unprocessable", `must be the project of the path, ${project}`, { loc: ["project_id"] });
}

/** Throws for a batch of which no item is of the project; a foreign one among others is an error of its own. */
function requireOwnItem(batch: ReadonlyArray<OfProject | ItemError>, project: string): void {
  const items = batch.flatMap((item, index) => (item instanceof ItemError ? [] : [{ item, index }]));
  const [first] = items;
  if (first === undefined || items.some(({ item }) => item.project_id === project)) return;
  withLoc(["batch", first.index], () => checkProject(first.item, project));
}
