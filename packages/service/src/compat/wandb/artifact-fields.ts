import type { ArtifactCollection, ArtifactFile, ArtifactVersion } from "@heddle/control-plane";
import { formatTime } from "@heddle/trace-model";
import { filesOf } from "../../artifacts/write-directory.js";
import { textIn } from "../arguments.js";
import type { GraphqlContext } from "../graphql-context.js";
import type { Arguments, Fields } from "../graphql-select.js";
import { encodeId } from "./ids.js";
import { wandbDigest } from "./manifest.js";

const mostInPage = 1000;

export function collectionFields(context: GraphqlContext, collection: ArtifactCollection): Fields {
  const { artifacts } = context.services.control;
  const { id, project_id, name, type, created_at } = collection;
  return {
    ...namedCollection(project_id, name),
    id: encodeId("ArtifactCollection", id),
    description: null,
    createdAt: formatTime(created_at),
    updatedAt: null,
    defaultArtifactType: { name: type },
    tags: { edges: [] },
    state: "READY",
    async artifactMembership(args: Arguments) {
      const version = await artifacts.get(project_id, name, textIn(args, "aliasName"));
      return version && membershipFields(context, version);
    },
    async artifacts(args: Arguments) {
      const after = textIn(args, "after");
      const order = "desc" as const;
      const page = await artifacts.page({ project_id, name, limit: limitOf(args), order, ...(after && { after }) });
      const edges = page.versions.map((version) => ({
        version: `v${version.index}`,
        node: versionFields(context, version),
      }));
      return connection(edges, page.has_more ? page.versions.at(-1)?.id : undefined);
    },
  };
}

/** What can be told of a collection without reading it. */
function namedCollection(projectId: string, name: string): Fields {
  const slash = projectId.indexOf("/");
  const [entity, project] = [projectId.slice(0, slash), projectId.slice(slash + 1)];
  const id = encodeId("Project", "v1", project, entity);
  return {
    __typename: "ArtifactSequence",
    name,
    project: { __typename: "Project", id, internalId: id, name: project, entity: { name: entity } },
  };
}

export function membershipFields(context: GraphqlContext, version: ArtifactVersion): Fields {
  const fields = versionFields(context, version);
  return {
    __typename: "ArtifactCollectionMembership",
    id: encodeId("ArtifactCollectionMembership", version.id),
    versionIndex: version.index,
    createdAt: fields["createdAt"],
    aliases: fields["aliases"],
    artifactCollection: fields["artifactSequence"],
    artifact: fields,
    files: fields["files"],
  };
}

export function versionFields(context: GraphqlContext, version: ArtifactVersion): Fields {
  const { services, urlOf } = context;
  const ofVersion = { project_id: version.project_id, version_id: version.id };
  const collection = namedCollection(version.project_id, version.collection);
  const fileNode = ({ path, md5, size_bytes }: ArtifactFile) => ({
    __typename: "File",
    id: encodeId("File", version.id, path),
    name: path,
    sizeBytes: size_bytes,
    md5,
    directUrl: urlOf({ kind: "file", ...ofVersion, path }),
    url: urlOf({ kind: "file", ...ofVersion, path }),
  });
  return {
    __typename: "Artifact",
    id: encodeId("Artifact", version.id),
    artifactSequence: collection,
    artifactCollection: collection,
    versionIndex: version.index,
    artifactType: { name: version.type },
    description: version.description,
    metadata: version.metadata,
    ttlDurationSeconds: -1,
    ttlIsInherited: true,
    tags: [],
    historyStep: null,
    state: "COMMITTED",
    size: version.size_bytes,
    digest: async () => wandbDigest(await allFiles(context, version)),
    commitHash: version.digest,
    fileCount: version.file_count,
    createdAt: formatTime(version.created_at),
    updatedAt: null,
    aliases: version.aliases.map((alias) => ({
      __typename: "ArtifactAlias",
      id: encodeId("ArtifactAlias", version.id, alias),
      alias,
      artifactCollection: collection,
    })),
    currentManifest: {
      id: encodeId("ArtifactManifest", version.id),
      file: { directUrl: urlOf({ kind: "version-manifest", ...ofVersion }) },
    },
    async files(args: Arguments) {
      const after = textIn(args, "after");
      const names = Array.isArray(args["names"]) ? new Set(args["names"]) : undefined;
      const limit = limitOf(args);
      const page = { version_id: version.id, limit: limit + 1, ...(after && { after: decodeCursor(after) }) };
      const found =
        names === undefined
          ? await services.control.artifacts.listFiles(page)
          : (await allFiles(context, version)).filter(({ path }) => names.has(path));
      const files = names === undefined ? found.slice(0, limit) : found;
      const more = found.length > files.length ? encodeCursor(files.at(-1)?.path ?? "") : undefined;
      return connection(
        files.map((file) => ({ node: fileNode(file) })),
        more,
      );
    },
  };
}

/** One page of a list; `next` is the cursor of the page after it. */
function connection(edges: unknown[], next: string | undefined): Fields {
  return {
    totalCount: edges.length,
    pageInfo: { __typename: "PageInfo", endCursor: next ?? null, hasNextPage: next !== undefined },
    edges,
  };
}

async function allFiles({ services }: GraphqlContext, version: ArtifactVersion): Promise<ArtifactFile[]> {
  const files: ArtifactFile[] = [];
  for await (const file of filesOf(services, version)) files.push(file);
  return files;
}

function limitOf(args: Arguments): number {
  const first = Number(args["first"] ?? mostInPage);
  return Number.isSafeInteger(first) && first > 0 ? Math.min(first, mostInPage) : mostInPage;
}

const encodeCursor = (text: string): string => Buffer.from(text).toString("base64");
const decodeCursor = (cursor: string): string => Buffer.from(cursor, "base64").toString();
