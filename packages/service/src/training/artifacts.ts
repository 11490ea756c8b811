import type { ArtifactFile, ArtifactVersion } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { reply } from "@heddle/server-stub";
import type { TrainingHandlers } from "@heddle/server-stub/training";
import { derivedId } from "@heddle/trace-model";
import { rangedContent } from "../artifacts/ranged-content.js";
import { storeContent } from "../artifacts/store-content.js";
import { attachment } from "../http/attachment.js";
import { reserveForResponse } from "../limits/request-scope.js";
import type { Caller, Services } from "../services.js";
import { wireArtifact, wireArtifactVersion } from "../wire/artifact.js";
import { wirePage } from "../wire/training-model.js";

interface VersionParams {
  entity: string;
  project: string;
  name: string;
  version: string;
}

/** Of the files of one version. */
const mostFiles = 10_000;

export function artifactHandlers(services: Services): TrainingHandlers<Caller>["artifacts"] {
  const { artifacts } = services.control;

  async function versionOf({ entity, project, name, version }: VersionParams): Promise<ArtifactVersion> {
    const found = await artifacts.get(`${entity}/${project}`, name, version);
    if (found !== undefined) return found;
    throw new HeddleError("not_found", `no artifact ${name}:${version} in ${entity}/${project}`);
  }

  async function fileOf(params: VersionParams, path: string): Promise<ArtifactFile> {
    const version = await versionOf(params);
    const file = await artifacts.getFile(version.id, path);
    if (file !== undefined) return file;
    throw new HeddleError("not_found", `the artifact ${params.name}:${params.version} has no file ${path}`);
  }

  return {
    async uploadArtifactContent({ params, query, body }) {
      return await storeContent(services, `${params.entity}/${params.project}`, body.stream, query);
    },

    async findArtifactContents({ params, body }) {
      const found = await artifacts.findContents(`${params.entity}/${params.project}`, body.sha256);
      return { contents: [...found.values()] };
    },

    async commitArtifact({ params, body, headers }, caller) {
      const projectId = `${params.entity}/${params.project}`;
      const retryId = headers["X-Weave-Retry-Id"];
      const { version, created } = await artifacts.commit({
        ...body,
        ...(retryId !== undefined && { retryId: derivedId(projectId, retryId, 0, "commitArtifact") }),
        project_id: projectId,
        metadata: body.metadata?.text,
        created_by: caller.user_id,
      });
      return { version: wireArtifactVersion(version), created };
    },

    async listArtifacts({ params, query }) {
      const page = await artifacts.pageCollections({ project_id: `${params.entity}/${params.project}`, ...query });
      return wirePage(page.collections.map(wireArtifact), page.has_more);
    },

    async getArtifact({ params: { entity, project, name } }) {
      const found = await artifacts.getCollection(`${entity}/${project}`, name);
      if (found !== undefined) return wireArtifact(found);
      throw new HeddleError("not_found", `no artifact ${name} in ${entity}/${project}`);
    },

    async deleteArtifact({ params: { entity, project, name } }) {
      if (await artifacts.deleteCollection(`${entity}/${project}`, name)) return { deleted: true };
      throw new HeddleError("not_found", `no artifact ${name} in ${entity}/${project}`);
    },

    async listArtifactVersions({ params: { entity, project, name }, query }) {
      const reserve = reserveForResponse(["limit"]);
      const page = await artifacts.page({ project_id: `${entity}/${project}`, name, reserve, ...query });
      return wirePage(page.versions.map(wireArtifactVersion), page.has_more);
    },

    async getArtifactVersion({ params }) {
      return wireArtifactVersion(await versionOf(params));
    },

    async deleteArtifactVersion({ params: { entity, project, name, version } }) {
      return wireArtifactVersion(await artifacts.delete(`${entity}/${project}`, name, version));
    },

    async listArtifactFiles({ params }) {
      const { id } = await versionOf(params);
      return { files: await artifacts.listFiles({ version_id: id, limit: mostFiles }) };
    },

    async downloadArtifactFile({ params, query, headers }) {
      const file = await fileOf(params, query.path);
      const content = await rangedContent(services, file, headers.Range);
      return reply(content.status, content.stream, {
        ...attachment(file.path.slice(file.path.lastIndexOf("/") + 1)),
        ...content.headers,
        etag: `"${file.sha256}"`,
      });
    },

    async setArtifactAlias({ params: { entity, project, name, alias }, body }) {
      const version = await artifacts.setAlias({ project_id: `${entity}/${project}`, name, alias }, body.version);
      return wireArtifactVersion(version);
    },

    async deleteArtifactAlias({ params: { entity, project, name, alias } }) {
      await artifacts.deleteAlias({ project_id: `${entity}/${project}`, name, alias });
      return { deleted: true };
    },
  };
}
