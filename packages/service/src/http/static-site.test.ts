import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Problem } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse, HttpServer } from "@heddle/server-stub";
import { defaultLimits } from "../config/config.js";
import { openTurns } from "../limits/shares.js";
import { consoleRoute, wandbLinksRoute, weaveLinksRoute } from "./console-site.js";
import type { BuiltConsole } from "./console-site.js";
import { docsRoute } from "./docs-site.js";
import type { BuiltDocs } from "./docs-site.js";
import { homeRoute } from "./home-route.js";
import { openRoutes, serveRoutes } from "./serve-routes.js";

const root = mkdtempSync(join(tmpdir(), "heddle-site-"));
const directory = join(root, "site");
const html = `<!doctype html><title>Docs</title>${"x".repeat(2000)}`;
const next: HttpServer = () => Promise.resolve({ status: 418, headers: {}, body: "next" });
const consoleDir = join(root, "console");
const index = '<!doctype html><base href="./" /><script src="./assets/main.1.js">';
const onError = (error: unknown) => (error instanceof Problem ? error : undefined);
const authenticate = () => Promise.reject(new Error("not asked for"));
const serve = (consoleDirectory: string | undefined) =>
  serveRoutes(
    openRoutes<BuiltConsole & BuiltDocs>([homeRoute, docsRoute, consoleRoute, weaveLinksRoute, wandbLinksRoute], {
      docsDir: directory,
      consoleDir: consoleDirectory,
    }),
    { authenticate, onError, turns: openTurns(defaultLimits) },
    next,
  );
const [site, withoutConsole] = [serve(consoleDir), serve(undefined)];

beforeAll(() => {
  mkdirSync(join(directory, "tracing"), { recursive: true });
  mkdirSync(join(directory, "assets"));
  writeFileSync(join(root, "secret.html"), "secret");
  writeFileSync(join(directory, "index.html"), html);
  writeFileSync(join(directory, "index.html.gz"), gzipSync(html));
  writeFileSync(join(directory, "index.html.br"), brotliCompressSync(html));
  writeFileSync(join(directory, "404.html"), '<a href="./index.html">First page</a>');
  writeFileSync(join(directory, "tracing/index.html"), "tracing");
  writeFileSync(join(directory, "tracing/call-start.html"), "call");
  writeFileSync(join(directory, "tracing/call-start.md"), "# Start");
  writeFileSync(join(directory, "assets/page.0123456789ab.js"), "1");
  mkdirSync(join(consoleDir, "assets"), { recursive: true });
  writeFileSync(join(consoleDir, "index.html"), index);
  writeFileSync(join(consoleDir, "assets/main.1.js"), "1");
});
afterAll(() => rmSync(root, { recursive: true }));

async function get(
  target: string,
  headers: Record<string, string> = {},
  method = "GET",
  server = site,
): Promise<HttpResponse> {
  return server({ target, method, header: (name: string) => headers[name] } as unknown as HttpRequest);
}

async function bodyOf({ body }: HttpResponse): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const write = (chunk: string | Uint8Array) => void chunks.push(Buffer.from(chunk));
  if (typeof body === "function") await body({ closed: false, write, onClose: () => undefined });
  return Buffer.concat(chunks);
}

test("a page is sent in the encoding that the browser accepts", async () => {
  const plain = await get("/docs/");
  expect((await bodyOf(plain)).toString()).toBe(html);
  expect(plain.headers).toMatchObject({ "content-type": "text/html; charset=utf-8", vary: "accept-encoding" });
  expect(plain.headers["content-encoding"]).toBeUndefined();
  const gzip = await get("/docs/", { "accept-encoding": "gzip, deflate" });
  expect(gzip.headers["content-encoding"]).toBe("gzip");
  expect(gunzipSync(await bodyOf(gzip)).toString()).toBe(html);
  const encodingFor = async (accepted: string) =>
    (await get("/docs/", { "accept-encoding": accepted })).headers["content-encoding"];
  expect(await encodingFor("gzip, deflate, br, zstd")).toBe("br");
  expect(await encodingFor("br;q=0, *;q=0.5")).toBe("gzip");
  expect(await encodingFor("BR ; Q=0.3")).toBe("br");
  expect(await encodingFor("identity")).toBeUndefined();
});

test("pages state their policy and are checked again each time; assets are kept", async () => {
  const page = await get("/docs/index.html");
  expect(page.headers["content-security-policy"]).toMatch(
    /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/,
  );
  expect(page.headers["cache-control"]).toBe("no-cache");
  const asset = await get("/docs/assets/page.0123456789ab.js");
  expect(asset.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
  expect(asset.headers["content-type"]).toBe("text/javascript; charset=utf-8");
});

test("a page that the browser has is not sent again, and each encoding has a tag of its own", async () => {
  const { etag = "" } = (await get("/docs/")).headers;
  const packed = (await get("/docs/", { "accept-encoding": "br" })).headers["etag"];
  expect(packed).not.toBe(etag);
  for (const known of [etag, `"other", W/${etag}`]) {
    const same = await get("/docs/", { "if-none-match": known });
    expect([same.status, same.body]).toEqual([304, undefined]);
  }
  expect((await get("/docs/", { "if-none-match": etag, "accept-encoding": "br" })).status).toBe(200);
});

test("redirects lead to the site below any prefix of a proxy", async () => {
  const locationOf = async (target: string) => {
    const { status, headers } = await get(target);
    return [status, new URL(headers["location"] ?? "", `http://x/prefix${target}`).pathname];
  };
  expect(await locationOf("/")).toEqual([302, "/prefix/console/"]);
  expect(await locationOf("/?a=b")).toEqual([302, "/prefix/console/"]);
  expect(await locationOf("/console")).toEqual([308, "/prefix/console/"]);
  expect(await locationOf("/docs")).toEqual([308, "/prefix/docs/"]);
  expect(await locationOf("/docs/tracing")).toEqual([308, "/prefix/docs/tracing/"]);
});

test("a page is found without its extension, and HEAD has the headers alone", async () => {
  expect((await bodyOf(await get("/docs/tracing/call-start"))).toString()).toBe("call");
  expect((await bodyOf(await get("/docs/tracing/"))).toString()).toBe("tracing");
  expect((await get("/docs/tracing/call-start.md")).headers["content-type"]).toBe("text/markdown; charset=utf-8");
  const head = await get("/docs/tracing/call-start", {}, "HEAD");
  expect([head.status, head.body, head.headers["content-length"]]).toEqual([200, undefined, "4"]);
});

test("nothing outside of the site is sent", async () => {
  for (const path of [
    "../secret.html",
    "..%2fsecret.html",
    "%2e%2e/secret.html",
    "tracing/../../secret.html",
    "%00",
    "%ff",
  ]) {
    expect((await get(`/docs/${path}`)).status, path).toBe(404);
  }
  expect((await get("/docs/none")).status).toBe(404);
  expect((await get("/docs/", {}, "POST")).status).toBe(405);
  expect((await get("/documents")).status).toBe(418);
  expect((await get("/", {}, "POST")).status).toBe(405);
});

test("a file that cannot be read is an error, one of an impossible name is missing", async () => {
  symlinkSync("unreadable", join(directory, "unreadable"));
  expect((await get("/docs/unreadable")).status).toBe(500);
  expect((await get(`/docs/${"x".repeat(1000)}`)).status).toBe(404);
  expect((await get("/docs/index.html/below")).status).toBe(404);
});

describe("the console", () => {
  const pageOf = async (target: string) => {
    const { status, headers, body } = await get(target);
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    return String(body);
  };

  test("is one page for every path, whose addresses lead to its root", async () => {
    for (const target of [
      "/console/",
      "/console/a/b/calls",
      "/console/a/b/",
      "/console//a",
      "/console/..%2f/x?y=/z/",
    ]) {
      const [, base = ""] = /<base href="(.*?)"/.exec(await pageOf(target)) ?? [];
      expect([target, new URL(base, `http://x/prefix${target}`).pathname]).toEqual([target, "/prefix/console/"]);
    }
  });

  test("may run nothing but its own scripts, and is checked again each time", async () => {
    const { headers } = await get("/console/login");
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; /);
    expect(headers).toMatchObject({ "cache-control": "no-cache", "cross-origin-opener-policy": "same-origin" });
    const known = { "if-none-match": headers["etag"] ?? "" };
    expect((await get("/console/", known)).status).toBe(304);
    expect((await get("/console/a/", known)).status).toBe(200);
  });

  test("keeps its assets, and a missing one is not a page", async () => {
    const { headers } = await get("/console/assets/main.1.js");
    expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect((await get("/console/assets/main.0.js")).status).toBe(404);
    expect((await get("/console/assets/../../secret.html")).status).toBe(404);
  });

  test("opens where links of the SDKs of Weave lead", async () => {
    const locationOf = async (target: string) => {
      const { status, headers } = await get(target);
      return [status, new URL(headers["location"] ?? "", `http://x/prefix${target}`).pathname];
    };
    expect(await locationOf("/acme/demo/weave")).toEqual([302, "/prefix/console/acme/demo"]);
    expect(await locationOf("/acme/demo/weave/objects/a/versions/b")).toEqual([302, "/prefix/console/acme/demo"]);
    expect(await locationOf("/acme/caf%C3%A9/r/call/0197-a")).toEqual([
      302,
      "/prefix/console/acme/caf%C3%A9/calls/0197-a",
    ]);
    expect((await get("/acme/demo/other")).status).toBe(418);
    // Paths of the interfaces.
    expect((await get("/v2/acme/weave")).status).toBe(418);
    expect((await get("/files/acme/r/x")).status).toBe(418);
  });

  test("opens where links of the client of W&B lead, for browsers: programs get what they got", async () => {
    const asBrowser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
    const locationOf = async (target: string) => {
      const { status, headers } = await get(target, asBrowser);
      return [status, new URL(headers["location"] ?? "", `http://x/prefix${target}`).pathname];
    };
    expect(await locationOf("/acme/demo")).toEqual([302, "/prefix/console/acme/demo"]);
    expect(await locationOf("/acme/demo/")).toEqual([302, "/prefix/console/acme/demo"]);
    expect(await locationOf("/acme/caf%C3%A9?nw=nwuserada")).toEqual([302, "/prefix/console/acme/caf%C3%A9"]);
    for (const run of ["runs/x1", "runs/x1/workspace", "runs/x1?nw=nwuserada", "sweeps/s1", "groups/g/workspace"])
      expect(await locationOf(`/acme/demo/${run}`)).toEqual([302, "/prefix/console/acme/demo/training"]);
    expect(await locationOf("/acme/demo/artifacts/dataset/a/v0")).toEqual([302, "/prefix/console/acme/demo"]);
    // What a name is made of stays encoded: it leads to no other host or path.
    expect(await locationOf("/acme/..%2F..%2Fx")).toEqual([302, "/prefix/console/acme/..%2F..%2Fx"]);
    expect((await get("/acme/demo")).status).toBe(418);
    expect((await get("/acme/demo", { accept: "*/*" })).status).toBe(418);
    expect((await get("/acme/demo/other", asBrowser)).status).toBe(418);
    // Paths of the interfaces.
    expect((await get("/calls/x", asBrowser)).status).toBe(418);
    expect((await get("/v2/acme", asBrowser)).status).toBe(418);
    expect((await get("/acme/demo", asBrowser, "POST")).status).toBe(405);
    expect((await get("/acme/demo", asBrowser, "GET", withoutConsole)).status).toBe(418);
  });

  test("is not there where the settings leave it out: the documentation is first", async () => {
    const getWithout = (target: string) => get(target, {}, "GET", withoutConsole);
    expect((await getWithout("/")).headers["location"]).toBe("docs/");
    for (const target of ["/console/", "/console", "/acme/demo/weave"])
      expect((await getWithout(target)).status).toBe(418);
  });
});

describe("an address without a page", () => {
  const accept = "text/html,*/*";
  test.each([
    ["/docs/nope", "./"],
    ["/docs/tracing/nope.html", "../"],
    ["/docs/a/b/", "../../"],
  ])("%s answers browsers with links that work from there", async (target, root) => {
    const { status, headers, body } = await get(target, { accept });
    expect([status, body]).toEqual([404, `<a href="${root}index.html">First page</a>`]);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
  });

  test("answers programs with one line", async () => {
    await expect(get("/docs/nope", { accept: "*/*" })).resolves.toMatchObject({ status: 404, body: "No such page.\n" });
  });
});
