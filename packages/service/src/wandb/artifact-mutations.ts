import type { ArtifactContent, ArtifactDraft, ArtifactVersion } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { ensureProject } from "../access/authorize.js";
import { parseJson } from "../http/json-body.js";
import { objectIn, objectsIn, projectIn, requiredText, textIn } from "./graphql/arguments.js";
import { may, requireWrite } from "./graphql-context.js";
import type { GraphqlContext } from "./graphql-context.js";
import { GraphqlError } from "./graphql/error.js";
import type { Arguments } from "./graphql/document.js";
import type { Fields } from "./graphql/select.js";
import { allFiles, countVersion, versionFields } from "./artifact-fields.js";
import { decodeId, encodeId } from "./ids.js";
import { hexMd5, readManifest, wandbDigest } from "./manifest.js";

/** As many as a version has. */
const mostAliases = 100;
/** Of a file in memory, on average, with the fields that are selected of it. */
const fileBytes = 600;
/** Of a manifest with as many files as a version has. */
const mostManifestValues = 250_000;
const digestsAtOnce = 500;

/** Throws `too_large` for more than a version may have. */
function aliasesIn(input: Arguments): Arguments[] {
  const aliases = objectsIn(input, "aliases");
  if (aliases.length > mostAliases) throw new HeddleError("too_large", `at most ${mostAliases} aliases at once`);
  return aliases;
}

/** What logging, using, labelling and deleting artifacts needs. */
export function artifactMutations(context: GraphqlContext): Fields {
  const { services, urlOf, caller, work } = context;
  const { artifacts } = services.control;

  /** The version of an id in a project that the caller may write to. Unknown and foreign ids look the same. */
  async function writableVersion(id: unknown): Promise<ArtifactVersion> {
    const version = await versionById(id);
    if (version !== undefined && may(context, version.project_id, "read")) {
      requireWrite(context, version.project_id);
      return version;
    }
    throw new GraphqlError("no such artifact");
  }

  const versionById = async (id: unknown) => await countVersion(work, artifacts.byId(decodeId("Artifact", id)));

  async function writableDraft(id: unknown): Promise<ArtifactDraft> {
    work.charge("statement");
    const draft = await artifacts.drafts.get(decodeId("Artifact", id));
    if (draft !== undefined && may(context, draft.project_id, "write")) return draft;
    throw new GraphqlError("no such artifact, or it was committed");
  }

  /** The newest version if it has the files that the client is about to send. */
  async function sameAsNewest(projectId: string, name: string, digest: string | undefined) {
    const newest = await countVersion(work, artifacts.get(projectId, name));
    if (newest === undefined || digest === undefined) return undefined;
    return wandbDigest(await allFiles(context, newest)) === digest ? newest : undefined;
  }

  const manifestFields = ({ id, project_id }: ArtifactDraft): Fields => ({
    artifactManifest: {
      id: encodeId("ArtifactManifest", id),
      file: {
        id: encodeId("File", id, "manifest"),
        uploadUrl: urlOf({ kind: "manifest", project_id, draft_id: id }),
        uploadHeaders: [],
      },
    },
  });

  async function eachAlias(args: Arguments, change: (version: ArtifactVersion, alias: string) => Promise<unknown>) {
    const input = objectIn(args, "input");
    const version = await writableVersion(input["artifactID"]);
    for (const given of aliasesIn(input)) {
      await change(version, requiredText(given, "alias"));
      await work.pause();
    }
    return { success: true };
  }

  return {
    async createArtifact(args: Arguments) {
      const input = objectIn(args, "input");
      const projectId = projectIn(input, context.entity);
      requireWrite(context, projectId);
      const [first] = Array.isArray(input["artifactCollectionNames"])
        ? (input["artifactCollectionNames"] as unknown[])
        : [];
      const name = typeof first === "string" ? first : requiredText(input, "artifactCollectionName");
      const aliases = aliasesIn(input).flatMap((given) => textIn(given, "alias") ?? []);
      const newest = await countVersion(work, artifacts.get(projectId, name));
      const artifactSequence = {
        latestArtifact: newest === undefined ? null : { id: encodeId("Artifact", newest.id) },
      };
      const same = await sameAsNewest(projectId, name, textIn(input, "digest"));
      const type = requiredText(input, "artifactTypeName");
      if (same !== undefined && same.type === type) {
        for (const alias of aliases) {
          if (alias !== "latest") await artifacts.setAlias({ project_id: projectId, name, alias }, `v${same.index}`);
        }
        return { artifact: { id: encodeId("Artifact", same.id), state: "COMMITTED", artifactSequence } };
      }
      await ensureProject(services.control, projectId);
      const description = textIn(input, "description");
      const metadata = textIn(input, "metadata");
      const draft = await artifacts.drafts.add(
        { project_id: projectId, created_by: caller.user_id },
        { name, type, aliases, ...(description && { description }), ...(metadata && { metadata }) },
      );
      return { artifact: { id: encodeId("Artifact", draft.id), state: "PENDING", artifactSequence } };
    },

    async createArtifactManifest(args: Arguments) {
      const input = objectIn(args, "input");
      if (textIn(input, "type") !== "FULL") throw new GraphqlError("only whole manifests can be sent, of type FULL");
      return manifestFields(await writableDraft(input["artifactID"]));
    },

    async updateArtifactManifest(args: Arguments) {
      const input = objectIn(args, "input");
      const draftId = decodeId("ArtifactManifest", input["artifactManifestID"]);
      return manifestFields(await writableDraft(encodeId("Artifact", draftId)));
    },

    async createArtifactFiles(args: Arguments) {
      const files = objectsIn(objectIn(args, "input"), "artifactFiles");
      await work.reserve(files.length * fileBytes, files.length);
      const drafts = new Map<unknown, ArtifactDraft>();
      for (const { artifactID: id } of files) {
        if (!drafts.has(id)) drafts.set(id, await writableDraft(id));
        await work.pause();
      }
      const digests = new Map<string, string[]>();
      const asked = files.map((file) => {
        const md5 = hexMd5(requiredText(file, "md5"));
        if (md5 === undefined) throw new GraphqlError("md5 must be 16 bytes in base64");
        const { project_id = "" } = drafts.get(file["artifactID"]) ?? {};
        const ofProject = digests.get(project_id);
        if (ofProject === undefined) digests.set(project_id, [md5]);
        else ofProject.push(md5);
        return { file, md5, project_id };
      });
      const stored = new Map<string, Map<string, ArtifactContent>>();
      for (const [project, some] of digests) stored.set(project, await findContents(project, some));
      const edges = asked.map(({ file, md5, project_id }) => ({
        node: {
          name: textIn(file, "name"),
          storagePath: `${project_id}/${md5}`,
          uploadUrl: stored.get(project_id)?.has(md5) === true ? null : urlOf({ kind: "content", project_id, md5 }),
          uploadHeaders: [],
          uploadMultipartUrls: null,
          artifact: { id: file["artifactID"] },
        },
      }));
      return { files: { edges } };
    },

    async commitArtifact(args: Arguments) {
      const id = objectIn(args, "input")["artifactID"];
      const committed = await versionById(id);
      if (committed !== undefined) return { artifact: versionFields(context, await writableVersion(id)) };
      const draft = await writableDraft(id);
      const manifest = await artifacts.drafts.getManifest(draft.id, work.reserve);
      if (manifest === undefined) throw new GraphqlError("the manifest was not sent");
      const { created_at: _, ...fields } = draft;
      const files = readManifest(parseJson(manifest, mostManifestValues, "the manifest"));
      work.charge("row", files.length);
      await work.pause();
      const { version } = await artifacts.commit({ ...fields, files: await contentOf(draft, files) });
      await artifacts.drafts.delete(draft.id);
      return { artifact: versionFields(context, version) };
    },

    /** Which run uses which artifact is not kept. */
    async useArtifact(args: Arguments) {
      const version = await versionById(objectIn(args, "input")["artifactID"]);
      if (version === undefined || !may(context, version.project_id, "read"))
        throw new GraphqlError("no such artifact");
      return { artifact: versionFields(context, version) };
    },

    /** Tags and times to live are not kept. */
    async updateArtifact(args: Arguments) {
      const input = objectIn(args, "input");
      const version = await writableVersion(input["artifactID"]);
      const [description, metadata] = [textIn(input, "description"), textIn(input, "metadata")];
      const described = await artifacts.describe(version, {
        ...(description !== undefined && { description }),
        ...(metadata !== undefined && { metadata }),
      });
      return { artifact: versionFields(context, described) };
    },

    addAliases: async (args: Arguments) =>
      await eachAlias(args, async ({ project_id, collection: name, index }, alias) => {
        if (alias !== "latest") await artifacts.setAlias({ project_id, name, alias }, `v${index}`);
      }),

    deleteAliases: async (args: Arguments) =>
      await eachAlias(args, async ({ project_id, collection: name }, alias) => {
        await artifacts.deleteAlias({ project_id, name, alias });
      }),

    async deleteArtifact(args: Arguments) {
      const version = await writableVersion(objectIn(args, "input")["artifactID"]);
      await artifacts.delete(version.project_id, version.collection, `v${version.index}`);
      return { artifact: { id: encodeId("Artifact", version.id) } };
    },
  };

  /** What the project has of the contents, by MD5. */
  async function findContents(projectId: string, digests: readonly string[]): Promise<Map<string, ArtifactContent>> {
    const found = new Map<string, ArtifactContent>();
    for (let from = 0; from < digests.length; from += digestsAtOnce) {
      const some = digests.slice(from, from + digestsAtOnce);
      for (const [md5, content] of await artifacts.findContentsByMd5(projectId, some)) found.set(md5, content);
      await work.pause();
    }
    return found;
  }

  /** The content of each file of a manifest. Throws `unprocessable` for one that was not sent. */
  async function contentOf(draft: ArtifactDraft, files: readonly { path: string; md5: string }[]) {
    const stored = await findContents(
      draft.project_id,
      files.map(({ md5 }) => md5),
    );
    return files.map(({ path, md5 }) => {
      const content = stored.get(md5);
      if (content !== undefined) return { path, sha256: content.sha256 };
      throw new HeddleError("unprocessable", `the content of ${path} was not sent`, { loc: ["files", path] });
    });
  }
}
