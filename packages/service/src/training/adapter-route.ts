import { blobKeyOf } from "@heddle/blob-store";
import type { BlobStore } from "@heddle/blob-store";
import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { HttpRequest, HttpResponse } from "@heddle/server-stub";
import { rangedContent } from "../artifacts/ranged-content.js";
import type { OpenRoute } from "../http/route.js";
import { writeAll } from "../http/write-all.js";
import { adaptersPath, readAdapterRepository } from "../checkpoints/adapter-addresses.js";
import type { AdapterFiles } from "../checkpoints/adapter-addresses.js";

/** What clients of a hub ask for: a description, the list of files, and a file of a revision. */
const forms = [
  /^api\/models\/(?<owner>[^/]+)\/(?<name>[^/]+)(?:\/revision\/[^/]+)?$/u,
  /^api\/models\/(?<owner>[^/]+)\/(?<name>[^/]+)\/(?<tree>tree)\/[^/]+\/?$/u,
  /^(?<owner>[^/]+)\/(?<name>[^/]+)\/resolve\/[^/]+\/(?<file>[^/]+)$/u,
];

/** The adapters of checkpoints, as a hub of Hugging Face has models, for inference servers that share no file system. */
export const adapterRoute: OpenRoute<{
  services: { control: Pick<ControlPlane, "urlSignatures">; blobs: BlobStore };
}> = {
  id: "adapter",
  paths: [`${adaptersPath}/{rest*}`],
  methods: ["GET"],
  access: "signed",
  errors: "object",
  open:
    ({ services }) =>
    async ({ http, params: { rest = "" }, turn }) => {
      const found = forms.map((form) => form.exec(rest)?.groups).find((groups) => groups !== undefined);
      if (found === undefined) throw new HeddleError("not_found", "there are adapters of checkpoints only");
      const { owner = "", name = "", tree, file } = found;
      const files = readAdapterRepository(services.control.urlSignatures, `${owner}/${name}`);
      await turn();
      if (file !== undefined) return await send(services.blobs, files, decodeURIComponent(file), http);
      const { commit, listed } = await describe(services.blobs, files);
      const siblings = listed.map(({ path }) => ({ rfilename: path }));
      const body = tree === undefined ? { id: `${owner}/${name}`, sha: commit, private: false, siblings } : listed;
      return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    },
};

/** What stands for a commit: files of other contents have another repository. */
const commitOf = (files: AdapterFiles): string => [...files.values()].join("").slice(-40);

async function describe(blobs: BlobStore, files: AdapterFiles) {
  const listed = [];
  for (const [path, sha256] of files) {
    const stat = await blobs.stat(blobKeyOf(sha256));
    if (stat === undefined) throw new HeddleError("not_found", "the adapter is deleted");
    listed.push({ type: "file", path, size: stat.size, oid: sha256.slice(0, 40) });
  }
  return { commit: commitOf(files), listed };
}

async function send(blobs: BlobStore, files: AdapterFiles, file: string, http: HttpRequest): Promise<HttpResponse> {
  const sha256 = files.get(file);
  const stat = sha256 === undefined ? undefined : await blobs.stat(blobKeyOf(sha256));
  if (sha256 === undefined || stat === undefined) throw new HeddleError("not_found", `the adapter has no file ${file}`);
  const content = { sha256, md5: "", size_bytes: stat.size };
  const { status, stream, headers } = await rangedContent({ blobs }, content, http.header("range"));
  return {
    status,
    headers: {
      "content-type": "application/octet-stream",
      ...headers,
      etag: `"${sha256}"`,
      "x-repo-commit": commitOf(files),
    },
    body: async (sink) => await writeAll(sink, stream),
  };
}
