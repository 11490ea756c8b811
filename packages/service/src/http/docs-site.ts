import { readFile } from "node:fs/promises";
import { contentSecurityPolicy } from "@heddle/docs";
import type { HttpRequest, HttpResponse } from "@heddle/server-stub";
import type { OpenRoute } from "./route.js";
import { noSuchPage, pageHeaders, StaticSite, textResponse } from "./static-site.js";

export interface BuiltDocs {
  /** Undefined where there is no built documentation. */
  docsDir: string | undefined;
}

/** The built documentation. */
export const docsRoute: OpenRoute<BuiltDocs> = {
  id: "docs",
  paths: ["/docs", "/docs/{page*}"],
  methods: ["GET"],
  access: "public",
  errors: "text",
  open({ docsDir }) {
    if (docsDir === undefined) return undefined;
    const policy = `${contentSecurityPolicy}; frame-ancestors 'none'`;
    const site = new StaticSite(docsDir, policy);
    return async ({ http, params: { page } }) => {
      // Relative links of the pages need the slash.
      if (page === undefined) return textResponse(308, "See docs/", { location: "docs/" });
      if (page !== "" && !page.endsWith("/") && (await site.find(`${page}/index.html`)) !== undefined) {
        const last = page.slice(page.lastIndexOf("/") + 1);
        return textResponse(308, `See ${last}/`, { location: `./${last}/` });
      }
      for (const name of [page, `${page}/index.html`, `${page}.html`]) {
        const file = await site.find(name);
        if (file !== undefined) return await site.respond(file, http);
      }
      // Programs that ask for an asset or a Markdown page get one line.
      const lost = http.header("accept")?.includes("text/html") === true ? await site.find("404.html") : undefined;
      if (lost === undefined) throw noSuchPage;
      return lostResponse(await readFile(lost.path, "utf8"), page, policy, http);
    };
  },
};

/** The site's page for addresses without a page. Its own addresses are relative to the root of the site. */
function lostResponse(html: string, page: string, policy: string, { method }: HttpRequest): HttpResponse {
  const root = "../".repeat(page.split("/").length - 1) || "./";
  const headers = { ...pageHeaders("text/html; charset=utf-8", policy), "cache-control": "no-cache", vary: "accept" };
  return { status: 404, headers, body: method === "HEAD" ? "" : html.replaceAll('="./', () => `="${root}`) };
}
