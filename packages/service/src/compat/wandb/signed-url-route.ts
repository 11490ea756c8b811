import { HeddleError } from "@heddle/errors";
import { BodyTooLarge, Problem } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse, HttpServer } from "@heddle/server-stub";
import { byteRange } from "../../artifacts/byte-range.js";
import { readContent } from "../../artifacts/read-content.js";
import { storeContent } from "../../artifacts/store-content.js";
import { filesOf } from "../../artifacts/write-directory.js";
import { enterRoute } from "../../limits/request-scope.js";
import type { Services } from "../../services.js";
import { manifestOf } from "./manifest.js";
import { readGrant, signedPath } from "./signed-urls.js";
import type { Grant } from "./signed-urls.js";

const maxManifestBytes = 16 * 1024 * 1024;
const maxContentBytes = 2 ** 40;

/** `PUT` and `GET` of signed URLs, which need no key; everything else goes on to `next`. */
export function signedUrlRoute(
  services: Services,
  onError: (error: unknown) => Problem | undefined,
  next: HttpServer,
): HttpServer {
  return async (request) => {
    if (!request.target.startsWith(signedPath)) return await next(request);
    enterRoute("signedUrl", `${signedPath}{token}`);
    try {
      const token = request.target.slice(signedPath.length).split("?", 1)[0] ?? "";
      const grant = readGrant(token, services.control.urlSigningKey);
      if (request.method === "PUT") return await receive(services, grant, request);
      if (request.method === "GET") return await send(services, grant, request);
      throw new Problem(405, "GET and PUT are possible here", { headers: { allow: "GET, PUT" } });
    } catch (error) {
      const known = error instanceof BodyTooLarge ? new HeddleError("too_large", "the body is too large") : error;
      const problem = onError(known) ?? new Problem(500, "Internal server error");
      const body = JSON.stringify({ error: problem.message });
      return {
        status: problem.status,
        headers: { ...headersOf("application/json"), ...problem.headers },
        body,
        drain: true,
      };
    }
  };
}

async function receive(services: Services, grant: Grant, request: HttpRequest): Promise<HttpResponse> {
  if (grant.kind === "content") {
    await storeContent(services, grant.project_id, request.stream(maxContentBytes), { md5: grant.md5 });
  } else if (grant.kind === "manifest") {
    const text = new TextDecoder().decode(await request.bytes(maxManifestBytes));
    await services.control.artifacts.drafts.setManifest(grant.draft_id, text);
  } else throw new HeddleError("forbidden", "the URL is for reading");
  return { status: 200, headers: headersOf("application/json"), body: "{}" };
}

async function send(services: Services, grant: Grant, request: HttpRequest): Promise<HttpResponse> {
  const { artifacts } = services.control;
  const version =
    grant.kind === "file" || grant.kind === "version-manifest" ? await artifacts.byId(grant.version_id) : undefined;
  if (version === undefined) throw new HeddleError("not_found", "no such artifact");
  if (grant.kind === "version-manifest") {
    const files = [];
    for await (const file of filesOf(services, version)) files.push(file);
    return { status: 200, headers: headersOf("application/json"), body: manifestOf(files) };
  }
  const file = grant.kind === "file" ? await artifacts.getFile(version.id, grant.path) : undefined;
  if (file === undefined) throw new HeddleError("not_found", "no such file");
  const range = byteRange(request.header("range"), file.size_bytes);
  const { stream, start, end, size } = await readContent(
    services,
    file,
    range === undefined ? { verify: true } : { range },
  );
  return {
    status: range === undefined ? 200 : 206,
    headers: {
      ...headersOf("application/octet-stream"),
      "content-disposition": "attachment",
      "accept-ranges": "bytes",
      "content-length": String(end - start),
      ...(range !== undefined && { "content-range": `bytes ${start}-${end - 1}/${size}` }),
    },
    async body(sink) {
      for await (const chunk of stream) {
        if (sink.closed) return;
        await sink.write(chunk);
      }
    },
  };
}

const headersOf = (mediaType: string): Record<string, string> => ({
  "content-type": mediaType,
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cache-control": "no-store",
});
