import { textIn } from "./graphql/arguments.js";
import { may } from "./graphql-context.js";
import type { GraphqlContext } from "./graphql-context.js";
import type { Arguments } from "./graphql/document.js";
import type { Fields } from "./graphql/select.js";
import { collectionFields, countVersion, membershipFields, versionFields } from "./artifact-fields.js";
import { encodeId } from "./ids.js";
import { runFields } from "./run-fields.js";

/** A project that exists and that the caller may read; null otherwise. */
export async function findProject(context: GraphqlContext, entity: string, name: string): Promise<Fields | null> {
  const { services, work } = context;
  if (!may(context, `${entity}/${name}`, "read")) return null;
  work.charge("statement");
  const found = await services.control.projects.get(entity, name);
  return found === undefined ? null : projectFields(context, entity, found.name);
}

/** The fields of a project of which the caller may read everything. */
export function projectFields(context: GraphqlContext, entity: string, name: string): Fields {
  const projectId = `${entity}/${name}`;
  const { services, work } = context;
  const { artifacts, trackingRuns } = services.control;
  const id = encodeId("Project", "v1", name, entity);

  const versionNamed = async (args: Arguments) => {
    const [collection = "", selector] = (textIn(args, "name") ?? "").split(":");
    return await countVersion(work, artifacts.get(projectId, collection, selector));
  };
  const collection = async (args: Arguments, type?: string) => {
    work.charge("statement");
    const found = await artifacts.getCollection(projectId, textIn(args, "name") ?? "");
    return found && (type === undefined || found.type === type) ? collectionFields(context, found) : null;
  };
  const run = async (args: Arguments) => {
    const found = await trackingRuns.get(projectId, textIn(args, "name") ?? "", work.reserve);
    return found === undefined ? null : runFields(context, found);
  };

  return {
    __typename: "Project",
    id,
    internalId: id,
    name,
    entityName: entity,
    entity: { __typename: "Entity", id: encodeId("Entity", entity), name: entity },
    description: null,
    repo: null,
    dockerImage: null,
    run,
    bucket: run,
    async artifact(args: Arguments) {
      const version = await versionNamed(args);
      return version && versionFields(context, version);
    },
    async artifactCollectionMembership(args: Arguments) {
      const version = await versionNamed(args);
      return version && membershipFields(context, version);
    },
    artifactCollection: async (args: Arguments) => await collection(args),
    artifactType(args: Arguments) {
      const type = textIn(args, "name");
      return { name: type, artifactCollection: async (inner: Arguments) => await collection(inner, type) };
    },
  };
}
