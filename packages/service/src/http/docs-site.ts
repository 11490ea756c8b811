import { contentSecurityPolicy } from "@heddle/docs";
import type { OpenRoute } from "./route.js";
import { noSuchPage, StaticSite, textResponse } from "./static-site.js";

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
    const site = new StaticSite(docsDir, `${contentSecurityPolicy}; frame-ancestors 'none'`);
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
      throw noSuchPage;
    };
  },
};
