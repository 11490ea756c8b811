import { HeddleError } from "@heddle/errors";
import { problemOf } from "../problems.js";
import { ensureProject } from "../access/authorize.js";
import { objectIn, textIn } from "./arguments.js";
import { may, requireProjectId } from "./graphql-context.js";
import type { GraphqlContext } from "./graphql-context.js";
import { GraphqlError } from "./graphql-error.js";
import { select } from "./graphql-select.js";
import type { Arguments, Fields, Query } from "./graphql-select.js";
import { versionFields } from "./wandb/artifact-fields.js";
import { artifactMutations } from "./wandb/artifact-mutations.js";
import { decodeId } from "./wandb/ids.js";
import { findProject, projectFields } from "./wandb/project-fields.js";
import { runMutations } from "./wandb/run-mutations.js";

export type GraphqlResponse =
  | { data: Record<string, unknown> }
  | { errors: { message: string; extensions?: { code: string } }[] };

/**
 * The GraphQL operations with which SDKs start up and with which `wandb` tracks runs and keeps artifacts. It has no
 * schema: each root field returns a superset of what the known releases select. Errors of the request are GraphQL errors
 * inside a 200, as clients of such endpoints expect.
 */
export async function runGraphql(query: Query, context: GraphqlContext): Promise<GraphqlResponse> {
  try {
    return { data: await select(query, rootsOf(context)) };
  } catch (error) {
    if (error instanceof GraphqlError) {
      return { errors: [{ message: error.message, ...(error.code && { extensions: { code: error.code } }) }] };
    }
    const problem = error instanceof HeddleError ? problemOf(error) : undefined;
    if (problem === undefined || problem.status >= 500) throw error;
    return { errors: [{ message: error instanceof Error ? error.message : problem.message }] };
  }
}

function rootsOf(context: GraphqlContext): Fields {
  const { caller, entity, services } = context;
  const project = async (args: Arguments) => {
    const name = textIn(args, "name");
    return name === undefined ? null : await findProject(context, textIn(args, "entityName") ?? entity, name);
  };
  return {
    viewer: () => ({
      id: caller.user_name,
      username: caller.user_name,
      name: caller.user_name,
      entity,
      email: null,
      flags: "{}",
      defaultEntity: { name: entity },
      teams: { edges: [] },
    }),
    project,
    model: project,
    async upsertModel(args: Arguments) {
      const input = objectIn(args, "input");
      const name = textIn(input, "name") ?? textIn(input, "id");
      if (name === undefined) throw new GraphqlError("upsertModel needs a project name");
      const owner = textIn(input, "entityName") ?? entity;
      await openProject(context, owner, name);
      const fields = projectFields(context, owner, name);
      return { model: fields, project: fields, inserted: true };
    },
    serverInfo: () => ({ features: [], frontendHost: null, cliVersionInfo: null, latestLocalVersionInfo: null }),
    entity: (args: Arguments) => ({ name: textIn(args, "name") ?? entity, readOnly: false, organization: null }),
    async artifact(args: Arguments) {
      const version = await services.control.artifacts.byId(decodeId("Artifact", args["id"]));
      return version && may(context, version.project_id, "read") ? versionFields(context, version) : null;
    },
    ...runMutations(context),
    ...artifactMutations(context),
    // Older releases of wandb look up which arguments there are; none means the simplest requests.
    __type: () => ({ inputFields: [], fields: [] }),
  };
}

/** Makes the project if needed. A reader may start an SDK in a project that exists: nothing is made then. */
async function openProject(context: GraphqlContext, entity: string, name: string): Promise<void> {
  const projectId = `${entity}/${name}`;
  requireProjectId(projectId);
  if (may(context, projectId, "write")) await ensureProject(context.services.control, projectId);
  else if ((await findProject(context, entity, name)) === null) {
    throw new GraphqlError(`this key may not write to ${projectId}`, "PERMISSION_ERROR");
  }
}
