import type { ArtifactCollection, ArtifactFile, ArtifactVersion } from "@heddle/control-plane";
import { formatTime } from "@heddle/trace-model";
import { filesOf } from "../artifacts/write-directory.js";
import { textIn } from "./graphql/arguments.js";
import type { GraphqlContext } from "./graphql-context.js";
import type { Arguments } from "./graphql/document.js";
import type { Fields } from "./graphql/select.js";
import type { GraphqlWork } from "./graphql/work.js";
import { encodeId } from "./ids.js";
import { wandbDigest } from "./manifest.js";

const mostInPage = 1000;
/** Of a file in memory, on average. */
const fileBytes = 400;

/** Counts what was read of a version. */
export async function countVersion<Version extends ArtifactVersion | undefined>(
  work: GraphqlWork,
  reading: Promise<Version>,
): Promise<Version> {
  const version = await reading;
  await work.reserve((version?.metadata.length ?? 0) + (version?.description.length ?? 0), 1);
  return version;
}

export function collectionFields(context: GraphqlContext, collection: ArtifactCollection): Fields {
  const { services, work } = context;
  const { artifacts } = services.control;
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
      const version = await countVersion(work, artifacts.get(project_id, name, textIn(args, "aliasName")));
      return version && membershipFields(context, version);
    },
    async artifacts(args: Arguments) {
      const after = textIn(args, "after");
      const order = "desc" as const;
      const { reserve } = work;
      const asked = { project_id, name, limit: limitOf(args), order, reserve, ...(after && { after }) };
      const page = await artifacts.page(asked);
      const edges = page.versions.map((version) => ({
        version: `v${version.index}`,
        node: versionFields(context, version),
      }));
      const next = page.has_more ? page.versions.at(-1)?.id : undefined;
      return connection(edges.length, async () => ({ edges, next }));
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
  const { urlOf } = context;
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
    files(args: Arguments) {
      const names = Array.isArray(args["names"]) ? new Set(args["names"]) : undefined;
      const read =
        names === undefined ? () => filePage(context, version, args) : () => namedFiles(context, version, names);
      return connection(names === undefined ? version.file_count : undefined, async () => {
        const { files, next } = await read();
        return { edges: files.map((file) => ({ node: fileNode(file) })), next };
      });
    },
  };
}

interface Page {
  edges: unknown[];
  /** The cursor of the page after it. */
  next: string | undefined;
}

/** One page of a list, which is read when something of it is selected. Without a total, the page has all there is. */
function connection(total: number | undefined, read: () => Promise<Page>): Fields {
  let page: Promise<Page> | undefined;
  const once = async (): Promise<Page> => await (page ??= read());
  return {
    totalCount: async () => total ?? (await once()).edges.length,
    async pageInfo() {
      const { next } = await once();
      return { __typename: "PageInfo", endCursor: next ?? null, hasNextPage: next !== undefined };
    },
    edges: async () => (await once()).edges,
  };
}

interface FilePage {
  files: ArtifactFile[];
  next?: string | undefined;
}

async function filePage(
  { services, work }: GraphqlContext,
  { id }: ArtifactVersion,
  args: Arguments,
): Promise<FilePage> {
  const after = textIn(args, "after");
  const limit = limitOf(args);
  await work.reserve(limit * fileBytes, limit);
  const found = await services.control.artifacts.listFiles({
    version_id: id,
    limit: limit + 1,
    ...(after && { after: decodeCursor(after) }),
  });
  const files = found.slice(0, limit);
  return { files, next: found.length > limit ? encodeCursor(files.at(-1)?.path ?? "") : undefined };
}

async function namedFiles(context: GraphqlContext, version: ArtifactVersion, names: Set<unknown>): Promise<FilePage> {
  context.work.charge("field", names.size);
  return { files: (await allFiles(context, version)).filter(({ path }) => names.has(path)) };
}

/** All files of a version, which are counted before they are read. */
export async function allFiles({ services, work }: GraphqlContext, version: ArtifactVersion): Promise<ArtifactFile[]> {
  await work.reserve(version.file_count * fileBytes, version.file_count);
  const files: ArtifactFile[] = [];
  for await (const file of filesOf(services, version)) {
    files.push(file);
    await work.pause();
  }
  return files;
}

function limitOf(args: Arguments): number {
  const first = Number(args["first"] ?? mostInPage);
  return Number.isSafeInteger(first) && first > 0 ? Math.min(first, mostInPage) : mostInPage;
}

const encodeCursor = (text: string): string => Buffer.from(text).toString("base64");
const decodeCursor = (cursor: string): string => Buffer.from(cursor, "base64").toString();
