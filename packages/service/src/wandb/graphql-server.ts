import { HeddleError } from "@heddle/errors";
import type { ErrorCode } from "@heddle/errors";
import { writeJson } from "@heddle/server-stub";
import type { StreamBody } from "@heddle/server-stub";
import { problemOf } from "../http/problems.js";
import { ensureProject } from "../access/authorize.js";
import { objectIn, textIn } from "./graphql/arguments.js";
import { may, requireProjectId } from "./graphql-context.js";
import type { GraphqlContext } from "./graphql-context.js";
import { GraphqlError } from "./graphql/error.js";
import { select } from "./graphql/select.js";
import type { Arguments, Query } from "./graphql/document.js";
import type { Roots } from "./graphql/select.js";
import { countVersion, versionFields } from "./artifact-fields.js";
import { artifactMutations } from "./artifact-mutations.js";
import { decodeId } from "./ids.js";
import { findProject, projectFields } from "./project-fields.js";
import { runMutations } from "./run-mutations.js";

/** Limits, outages and corrupt data are HTTP errors, as of operations. */
const codesOfHttp: ReadonlySet<ErrorCode> = new Set(["too_large", "rate_limited", "aborted"]);
/** A message may name what the client sent, however long it is. */
const maxMessageLength = 1000;

/**
 * The GraphQL operations with which SDKs start up and with which `wandb` tracks runs and keeps artifacts. It has no
 * schema: each root field returns a superset of what the known releases select. Errors of the request are GraphQL errors
 * inside a 200, as clients of such endpoints expect.
 */
export async function runGraphql(query: Query, context: GraphqlContext): Promise<string | StreamBody> {
  try {
    return (await select(query, rootsOf(context), context.work)).body();
  } catch (error) {
    const { message, code } = clientErrorOf(error);
    const shortened = message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}…` : message;
    return writeJson({ errors: [{ message: shortened, ...(code !== undefined && { extensions: { code } }) }] });
  }
}

/** Throws what is not a mistake of the client, or is none that GraphQL has words for. */
function clientErrorOf(error: unknown): { message: string; code?: string | undefined } {
  if (error instanceof GraphqlError) return error;
  const problem = error instanceof HeddleError && !codesOfHttp.has(error.code) ? problemOf(error) : undefined;
  if (problem === undefined || problem.status >= 500) throw error;
  return { message: error instanceof Error ? error.message : problem.message };
}

/** Every field that a query or a mutation can begin with. */
export function rootsOf(context: GraphqlContext): Roots {
  const { caller, entity, services, work } = context;
  const project = async (args: Arguments) => {
    const name = textIn(args, "name");
    return name === undefined ? null : await findProject(context, textIn(args, "entityName") ?? entity, name);
  };
  return {
    query: {
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
      serverInfo: () => ({ features: [], frontendHost: null, cliVersionInfo: null, latestLocalVersionInfo: null }),
      entity: (args: Arguments) => ({ name: textIn(args, "name") ?? entity, readOnly: false, organization: null }),
      async artifact(args: Arguments) {
        const id = decodeId("Artifact", args["id"]);
        const version = await countVersion(work, services.control.artifacts.byId(id));
        return version && may(context, version.project_id, "read") ? versionFields(context, version) : null;
      },
      // Older releases of wandb look up which arguments there are; none means the simplest requests.
      __type: () => ({ inputFields: [], fields: [] }),
    },
    mutation: {
      async upsertModel(args: Arguments) {
        const input = objectIn(args, "input");
        const name = textIn(input, "name") ?? textIn(input, "id");
        if (name === undefined) throw new GraphqlError("upsertModel needs a project name");
        const owner = textIn(input, "entityName") ?? entity;
        await openProject(context, owner, name);
        const fields = projectFields(context, owner, name);
        return { model: fields, project: fields, inserted: true };
      },
      ...runMutations(context),
      ...artifactMutations(context),
    },
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
