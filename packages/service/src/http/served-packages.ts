import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ifExists } from "@heddle/durable-files";
import { Problem } from "@heddle/server-stub";
import type { HttpResponse } from "@heddle/server-stub";
import type { Config } from "../config/config.js";
import { publicUrl } from "./public-url.js";
import type { OpenRoute } from "./route.js";
import { pageHeaders, StaticSite, textResponse } from "./static-site.js";

export interface BuiltPackages {
  services: { config: Pick<Config, "publicUrl"> };
  /** Undefined where the service does not serve them (tests). */
  packagesDir: string | undefined;
}

/** A package that was packed, as the build writes it into `packages.json` of the directory. */
export interface PackedPackage {
  name: string;
  version: string;
  description: string;
  /** Of the tarball, in the directory. */
  file: string;
  size: number;
  integrity: string;
}

/** Where the build of this package puts the tarballs. */
export const packagesDirectory = fileURLToPath(new URL("../../dist/packages", import.meta.url));

const policy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Packages for programs that use the service, of its own version: `npm install` takes them from here, without a registry. */
export const packagesRoute: OpenRoute<BuiltPackages> = {
  id: "packages",
  paths: ["/packages", "/packages/{file*}"],
  methods: ["GET"],
  access: "public",
  errors: "text",
  open({ services: { config }, packagesDir }) {
    const site = packagesDir === undefined ? undefined : new StaticSite(packagesDir, policy);
    return async ({ http, params: { file } }) => {
      const packed = packagesDir === undefined ? undefined : await readPacked(packagesDir);
      if (site === undefined || packed === undefined) throw notBuilt;
      // Relative links need the slash.
      if (file === undefined) return textResponse(308, "See packages/", { location: "packages/" });
      if (file === "") return indexPage(packed, `${publicUrl(config, http)}/packages/`);
      if (file === "index.json") return indexJson(packed, `${publicUrl(config, http)}/packages/`);
      const known = packed.some((each) => each.file === file) ? await site.find(file) : undefined;
      if (known === undefined) {
        const files = packed.map((each) => each.file).join(", ");
        throw new Problem(404, `No such package: there are ${files}, and index.json with what is known of them.`);
      }
      return await site.respond(known, http);
    };
  },
};

const notBuilt = new Problem(
  404,
  "This service runs from source, and its packages have not been built: run `pnpm build` in the clone, then ask again. " +
    "`pnpm start` builds them, too.",
);

async function readPacked(directory: string): Promise<PackedPackage[] | undefined> {
  const text = await ifExists(readFile(join(directory, "packages.json"), "utf8"));
  return text === undefined ? undefined : (JSON.parse(text) as PackedPackage[]);
}

function indexJson(packed: readonly PackedPackage[], base: string): HttpResponse {
  const packages = packed.map(({ file, ...known }) => ({ ...known, tarball: base + file }));
  return { status: 200, headers: headersOf("application/json"), body: `${JSON.stringify({ packages }, null, 2)}\n` };
}

function indexPage(packed: readonly PackedPackage[], base: string): HttpResponse {
  const rows = packed.map(
    ({ name, version, description, file, size }) => `<h2>${escaped(name)} ${escaped(version)}</h2>
<p>${escaped(description)} (<a href="${escaped(file)}">${escaped(file)}</a>, ${Math.ceil(size / 1000)} kB)</p>
<pre>npm install ${escaped(base + file)}</pre>`,
  );
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Packages of this service</title>
<h1>Packages of this service</h1>
<p>For programs that use it, of the same version as the service. They need no other package, so a registry is not asked.
After an upgrade of the service, install them again. For programs: <a href="index.json">index.json</a>.</p>
${rows.join("\n")}
</html>
`;
  return { status: 200, headers: headersOf("text/html; charset=utf-8"), body };
}

const headersOf = (type: string): Record<string, string> => ({
  ...pageHeaders(type, policy),
  "cache-control": "no-cache",
});

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
}
