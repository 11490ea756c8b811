import type { BuiltConsole } from "./console-site.js";
import type { BuiltDocs } from "./docs-site.js";
import type { OpenRoute } from "./route.js";
import { textResponse } from "./static-site.js";

/** Leads from the address of the service to its console, or where there is none to its documentation. */
export const homeRoute: OpenRoute<BuiltConsole & BuiltDocs> = {
  id: "home",
  paths: ["/"],
  methods: ["GET"],
  access: "public",
  errors: "text",
  open({ consoleDir, docsDir }) {
    const location = consoleDir !== undefined ? "console/" : docsDir !== undefined ? "docs/" : undefined;
    // Redirects are relative, because a proxy may serve all of this below a prefix.
    return location === undefined ? undefined : async () => textResponse(302, `See ${location}`, { location });
  },
};
