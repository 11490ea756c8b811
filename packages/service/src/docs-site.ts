import { open, stat } from "node:fs/promises";
import { extname, join, normalize, sep } from "node:path";
import { Problem } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse, HttpServer } from "@heddle/server-stub";
import { enterRoute } from "./limits/request-scope.js";

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

/**
 * Serves the built documentation under `/docs`; everything else goes on to `next`. An error becomes the problem that
 * `onError` returns, or a 500.
 */
export function docsSite(
  directory: string,
  onError: (error: unknown) => Problem | undefined,
  next: HttpServer,
): HttpServer {
  return async (request) => {
    const path = request.target.split("?", 1)[0] ?? "";
    if (path !== "/docs" && !path.startsWith("/docs/")) return next(request);
    enterRoute("docs", "/docs");
    if (request.method !== "GET" && request.method !== "HEAD") {
      return textResponse(405, "The documentation can only be read.", { allow: "GET, HEAD" });
    }
    // Relative links of the pages need the slash.
    if (path === "/docs") return textResponse(308, "See /docs/", { location: "/docs/" });
    return await sendFile(directory, path.slice("/docs/".length), request).catch((error: unknown) => {
      const problem = onError(error) ?? new Problem(500, "Internal server error");
      return textResponse(problem.status, problem.message, problem.headers);
    });
  };
}

async function sendFile(directory: string, path: string, request: HttpRequest): Promise<HttpResponse> {
  const name = decode(path);
  const file = name === undefined ? undefined : join(directory, normalize(`/${name}`));
  if (
    file === undefined ||
    (file !== directory && !file.startsWith(directory + sep) && `${file}${sep}` !== `${directory}${sep}`)
  ) {
    return textResponse(404, "No such page.");
  }
  for (const candidate of [file, join(file, "index.html"), `${file}.html`]) {
    const info = await stat(candidate).catch(() => undefined);
    if (!info?.isFile()) continue;
    const etag = `"${info.size.toString(36)}-${Math.trunc(info.mtimeMs).toString(36)}"`;
    const headers = {
      "content-type": mediaTypes[extname(candidate)] ?? "application/octet-stream",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      etag,
    };
    if (request.header("if-none-match") === etag) return { status: 304, headers };
    if (request.method === "HEAD") return { status: 200, headers: { ...headers, "content-length": String(info.size) } };
    const handle = await open(candidate);
    try {
      return { status: 200, headers, body: await handle.readFile() };
    } finally {
      await handle.close();
    }
  }
  return textResponse(404, "No such page.");
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
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff", ...headers },
    body: `${text}\n`,
  };
}
