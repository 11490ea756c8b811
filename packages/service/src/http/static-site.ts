import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { ifExists } from "@heddle/durable-files";
import { Problem } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse } from "@heddle/server-stub";
import { acceptedEncodings } from "../compression/accepted-encodings.js";
import { writeAll } from "./write-all.js";

const mediaTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".yaml": "application/yaml",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
  ".md": "text/markdown; charset=utf-8",
  // Programs to download.
  ".ts": "text/plain; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".tgz": "application/gzip",
};

/** The built site has these next to its files. The first that a browser accepts is sent. */
const encodings = [
  { name: "br", extension: ".br" },
  { name: "gzip", extension: ".gz" },
];

/** A file that was found. */
interface SiteFile {
  path: string;
  /** Never changes under its name. */
  isImmutable: boolean;
}

export const noSuchPage = new Problem(404, "No such page.");

/** A directory of static files that were built, and the policy of its pages. */
export class StaticSite {
  readonly #directory: string;
  readonly #policy: string;
  /** The tag of each file that was sent, while the file stays as it is. */
  readonly #tags = new Map<string, { changed: number; size: number; etag: Promise<string> }>();

  constructor(directory: string, policy: string) {
    this.#directory = directory;
    this.#policy = policy;
  }

  /** Finds a file by its path of a URL. Undefined where there is none, or outside of the directory. */
  async find(name: string): Promise<SiteFile | undefined> {
    const decoded = decode(name);
    if (decoded === undefined || decoded.endsWith("/")) return undefined;
    // From the root, `..` leads to the root.
    const path = join(this.#directory, normalize(`/${decoded}`));
    return (await isFile(path)) ? { path, isImmutable: name.startsWith("assets/") } : undefined;
  }

  /** Sends a file in the encoding that the browser accepts, or says that the browser has it. */
  async respond({ path: file, isImmutable }: SiteFile, request: HttpRequest): Promise<HttpResponse> {
    const accepted = acceptedEncodings(request.header("accept-encoding") ?? "");
    const usable = encodings.filter(({ name }) => accepted(name) > 0);
    const { path, stats, encoding } = await smallest(file, usable);
    const etag = await this.#tagOf(path, stats);
    const headers: Record<string, string> = {
      ...pageHeaders(mediaTypes[extname(file)] ?? "application/octet-stream", this.#policy),
      "cache-control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
      vary: "accept-encoding",
      etag,
      ...(encoding !== undefined && { "content-encoding": encoding }),
    };
    if (isKnownTag(request, etag)) return { status: 304, headers };
    headers["content-length"] = String(stats.size);
    if (request.method === "HEAD") return { status: 200, headers };
    return {
      status: 200,
      headers,
      body: async (sink) => await writeAll(sink, createReadStream(path) as AsyncIterable<Uint8Array>),
    };
  }

  /** By content. Times of files are no use to clients: npm gives the files of all versions one time. */
  async #tagOf(path: string, { mtimeMs: changed, size }: Stats): Promise<string> {
    const known = this.#tags.get(path);
    if (known?.changed === changed && known.size === size) return await known.etag;
    const etag = hashOf(path);
    this.#tags.set(path, { changed, size, etag });
    etag.catch(() => this.#tags.delete(path));
    return await etag;
  }
}

/** What every file of a site is sent with; pages have the policy of the site. */
export function pageHeaders(type: string, policy: string): Record<string, string> {
  return {
    "content-type": type,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    ...(type.startsWith("text/html") && {
      "content-security-policy": policy,
      "cross-origin-opener-policy": "same-origin",
    }),
  };
}

/** Whether the browser has the version with this tag. */
export function isKnownTag(request: HttpRequest, etag: string): boolean {
  const known = request.header("if-none-match")?.split(",") ?? [];
  return known.some((tag) => tag.trim().replace(/^W\//, "") === etag);
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

/** A response of one line. */
export function textResponse(status: number, text: string, headers: Record<string, string> = {}): HttpResponse {
  return {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", ...headers },
    body: `${text}\n`,
  };
}
