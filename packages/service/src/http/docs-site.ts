import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { extname, join, normalize, sep } from "node:path";
import { contentSecurityPolicy } from "@heddle/docs";
import { ifExists } from "@heddle/durable-files";
import { Problem } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse } from "@heddle/server-stub";
import type { OpenRoute } from "./route.js";
import { writeAll } from "./write-all.js";

const mediaTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".yaml": "application/yaml",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".md": "text/markdown; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
};

/** The built site has these next to its files. The first that a browser accepts is sent. */
const encodings = [
  { name: "br", extension: ".br" },
  { name: "gzip", extension: ".gz" },
];

export interface BuiltDocs {
  /** Undefined where there is no built documentation. */
  docsDir: string | undefined;
}

/** Leads from the address of the service to its documentation. */
export const homeRoute: OpenRoute<BuiltDocs> = {
  id: "home",
  paths: ["/"],
  methods: ["GET"],
  access: "public",
  errors: "text",
  // Redirects are relative, because a proxy may serve all of this below a prefix.
  open: ({ docsDir }) =>
    docsDir === undefined ? undefined : async () => textResponse(302, "See docs/", { location: "docs/" }),
};

/** The built documentation. */
export const docsRoute: OpenRoute<BuiltDocs> = {
  id: "docs",
  paths: ["/docs", "/docs/{page*}"],
  methods: ["GET"],
  access: "public",
  errors: "text",
  open({ docsDir }) {
    if (docsDir === undefined) return undefined;
    const site: Site = { directory: docsDir, tags: new Map() };
    return async ({ http, params: { page } }) =>
      // Relative links of the pages need the slash.
      page === undefined ? textResponse(308, "See docs/", { location: "docs/" }) : await sendFile(site, page, http);
  },
};

interface Site {
  directory: string;
  /** The tag of each file that was sent, while the file stays as it is. */
  tags: Map<string, { changed: number; size: number; etag: Promise<string> }>;
}

const noSuchPage = new Problem(404, "No such page.");

async function sendFile(site: Site, path: string, request: HttpRequest): Promise<HttpResponse> {
  const { directory } = site;
  const name = decode(path);
  const file = name === undefined ? undefined : join(directory, normalize(`/${name}`));
  if (
    file === undefined ||
    (file !== directory && !file.startsWith(directory + sep) && `${file}${sep}` !== `${directory}${sep}`)
  ) {
    throw noSuchPage;
  }
  if (path !== "" && !path.endsWith("/") && (await isFile(join(file, "index.html")))) {
    const last = path.slice(path.lastIndexOf("/") + 1);
    return textResponse(308, `See ${last}/`, { location: `./${last}/` });
  }
  for (const candidate of [file, join(file, "index.html"), `${file}.html`]) {
    if (await isFile(candidate))
      return await respond(site, { file: candidate, isImmutable: path.startsWith("assets/") }, request);
  }
  throw noSuchPage;
}

async function respond(
  site: Site,
  { file, isImmutable }: { file: string; isImmutable: boolean },
  request: HttpRequest,
): Promise<HttpResponse> {
  const accepted = acceptedEncodings(request.header("accept-encoding") ?? "");
  const usable = encodings.filter(({ name }) => accepted(name));
  const { path, stats, encoding } = await smallest(file, usable);
  const type = mediaTypes[extname(file)] ?? "application/octet-stream";
  const etag = await tagOf(site, path, stats);
  const headers: Record<string, string> = {
    "content-type": type,
    "cache-control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    vary: "accept-encoding",
    etag,
    ...(encoding !== undefined && { "content-encoding": encoding }),
    ...(type.startsWith("text/html") && {
      "content-security-policy": `${contentSecurityPolicy}; frame-ancestors 'none'`,
    }),
  };
  const known = request.header("if-none-match")?.split(",") ?? [];
  if (known.some((tag) => tag.trim().replace(/^W\//, "") === etag)) return { status: 304, headers };
  headers["content-length"] = String(stats.size);
  if (request.method === "HEAD") return { status: 200, headers };
  return {
    status: 200,
    headers,
    body: async (sink) => await writeAll(sink, createReadStream(path) as AsyncIterable<Uint8Array>),
  };
}

/** By content. Times of files are no use to clients: npm gives the files of all versions one time. */
async function tagOf({ tags }: Site, path: string, { mtimeMs: changed, size }: Stats): Promise<string> {
  const known = tags.get(path);
  if (known?.changed === changed && known.size === size) return await known.etag;
  const etag = hashOf(path);
  tags.set(path, { changed, size, etag });
  etag.catch(() => tags.delete(path));
  return await etag;
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path) as AsyncIterable<Uint8Array>) hash.update(chunk);
  return `"${hash.digest("base64url").slice(0, 22)}"`;
}

/** The first of the encoded files that exists, else the file itself. */
async function smallest(
  file: string,
  usable: readonly { name: string; extension: string }[],
): Promise<{ path: string; stats: Stats; encoding?: string }> {
  for (const { name, extension } of usable) {
    const stats = await ifExists(stat(file + extension));
    if (stats?.isFile() === true) return { path: file + extension, stats, encoding: name };
  }
  return { path: file, stats: await stat(file) };
}

/** Whether an `Accept-Encoding` header allows an encoding: `q=0` forbids it, and `*` means those that are not named. */
function acceptedEncodings(header: string): (name: string) => boolean {
  const weights = new Map(
    header.split(",").map((part) => {
      const [name = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith("q="));
      return [name, weight === undefined ? 1 : Number(weight.slice(2))];
    }),
  );
  return (name) => (weights.get(name) ?? weights.get("*") ?? 0) > 0;
}

async function isFile(path: string): Promise<boolean> {
  return (await ifExists(stat(path)))?.isFile() === true;
}

/** The path as text; undefined when it is not percent-encoded UTF-8 or holds a NUL, which no file name does. */
function decode(path: string): string | undefined {
  try {
    const name = decodeURIComponent(path);
    return name.includes("\0") ? undefined : name;
  } catch {
    return undefined;
  }
}

function textResponse(status: number, text: string, headers: Record<string, string> = {}): HttpResponse {
  return {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", ...headers },
    body: `${text}\n`,
  };
}
