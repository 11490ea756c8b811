import { HeddleError } from "@heddle/errors";
import { decodeText, openBody, readBody } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse } from "@heddle/server-stub";
import { rangedContent } from "../artifacts/ranged-content.js";
import { storeContent } from "../artifacts/store-content.js";
import { filesOf } from "../artifacts/write-directory.js";
import { attachment } from "../http/attachment.js";
import type { OpenRoute } from "../http/route.js";
import { currentScope } from "../limits/request-scope.js";
import { writeAll } from "../http/write-all.js";
import type { WandbServices } from "./wandb-services.js";
import { manifestOf } from "./manifest.js";
import { readGrant, signedPath } from "./signed-urls.js";
import type { Grant } from "./signed-urls.js";

const jsonType = { "content-type": "application/json" };
const maxManifestBytes = 16 * 1024 * 1024;
const maxContentBytes = 2 ** 40;

/** `PUT` and `GET` of signed URLs, which name the key that they need. */
export const signedUrlRoute: OpenRoute<{ services: WandbServices }> = {
  id: "signedUrl",
  paths: [`${signedPath}{token*}`],
  methods: ["GET", "PUT"],
  access: "signed",
  errors: "object",
  streamed: true,
  open:
    ({ services }) =>
    async ({ http, params: { token = "" }, turn }) => {
      const grant = await readGrant(services.control, token);
      return http.method === "PUT"
        ? await receive(services, grant, http, turn)
        : await send(services, grant, http, turn);
    },
};

async function receive(
  services: WandbServices,
  grant: Grant,
  request: HttpRequest,
  turn: () => Promise<void>,
): Promise<HttpResponse> {
  if (grant.kind === "content") {
    await storeContent(services, grant.project_id, openBody(request, maxContentBytes), { md5: grant.md5 });
  } else if (grant.kind === "manifest") {
    const bytes = await readBody(request, maxManifestBytes);
    await turn();
    await currentScope()?.hold(bytes.length);
    const text = decodeText(bytes);
    await services.control.artifacts.drafts.setManifest(grant.draft_id, text);
  } else throw new HeddleError("forbidden", "the URL is for reading");
  return { status: 200, headers: jsonType, body: "{}" };
}

async function send(
  services: WandbServices,
  grant: Grant,
  request: HttpRequest,
  turn: () => Promise<void>,
): Promise<HttpResponse> {
  await turn();
  const { artifacts } = services.control;
  const version =
    grant.kind === "file" || grant.kind === "version-manifest" ? await artifacts.byId(grant.version_id) : undefined;
  if (version === undefined) throw new HeddleError("not_found", "no such artifact");
  if (grant.kind === "version-manifest") {
    return {
      status: 200,
      headers: jsonType,
      body: async (sink) => await writeAll(sink, manifestOf(filesOf(services, version))),
    };
  }
  const file = grant.kind === "file" ? await artifacts.getFile(version.id, grant.path) : undefined;
  if (file === undefined) throw new HeddleError("not_found", "no such file");
  const { status, stream, headers } = await rangedContent(services, file, request.header("range"));
  return {
    status,
    headers: {
      "content-type": "application/octet-stream",
      ...attachment(file.path.slice(file.path.lastIndexOf("/") + 1)),
      ...headers,
    },
    body: async (sink) => await writeAll(sink, stream),
  };
}
