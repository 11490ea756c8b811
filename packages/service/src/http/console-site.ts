import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { baseElement, contentSecurityPolicy } from "@heddle/console";
import type { HttpRequest, HttpResponse } from "@heddle/server-stub";
import type { OpenRoute } from "./route.js";
import { isKnownTag, noSuchPage, pageHeaders, StaticSite, textResponse } from "./static-site.js";

export interface BuiltConsole {
  /** Undefined where there is no built console, or the settings leave it out. */
  consoleDir: string | undefined;
}

/** The built console. Every path below it that is not a file is a page of it. */
export const consoleRoute: OpenRoute<BuiltConsole> = {
  id: "console",
  paths: ["/console", "/console/{page*}"],
  methods: ["GET"],
  access: "public",
  errors: "text",
  open({ consoleDir }) {
    if (consoleDir === undefined) return undefined;
    const site = new StaticSite(consoleDir, contentSecurityPolicy);
    return async ({ http, params: { page } }) => {
      if (page === undefined) return textResponse(308, "See console/", { location: "console/" });
      const file = page === "index.html" ? undefined : await site.find(page);
      if (file !== undefined) return await site.respond(file, http);
      // A page in place of a script that an older page asks for would be reported as a syntax error.
      const index = page.startsWith("assets/") ? undefined : await site.find("index.html");
      if (index === undefined) throw noSuchPage;
      return sendPage(await readFile(index.path, "utf8"), stepsToRoot(http.target, "console"), http);
    };
  },
};

/**
 * The pages that the SDKs of Weave print links to: those of a project and of a call. They follow what operations and other
 * routes serve, so that no name of an entity takes a path of theirs.
 */
export const weaveLinksRoute: OpenRoute<BuiltConsole> = {
  id: "weaveLinks",
  paths: ["/{entity}/{project}/weave", "/{entity}/{project}/weave/{page*}", "/{entity}/{project}/r/{page*}"],
  methods: ["GET"],
  access: "public",
  errors: "text",
  open({ consoleDir }) {
    if (consoleDir === undefined) return undefined;
    return async ({ http: { target }, params: { page = "" } }) => {
      // As they were sent: decoded and encoded again, a name may become another.
      const [entity, project] = segmentsOf(target);
      const call = /^(?:call|calls)\/([^/]+)$/.exec(page)?.[1];
      const location = `${stepsToRoot(target, "")}console/${entity}/${project}${call === undefined ? "" : `/calls/${call}`}`;
      return textResponse(302, `See ${location}`, { location });
    };
  },
};

/** Where the console shows what the client of W&B prints links to: runs are beside the models whose training they log. */
const wandbScreens: Readonly<Record<string, string>> = { runs: "/training", groups: "/training", sweeps: "/training" };

/**
 * The pages that the client of W&B prints links to: those of a project, of a run and of what it has besides. Programs that ask
 * for a path of two segments get what they got before.
 */
export const wandbLinksRoute: OpenRoute<BuiltConsole> = {
  id: "wandbLinks",
  paths: [
    "/{entity}/{project}",
    "/{entity}/{project}/",
    "/{entity}/{project}/runs/{page*}",
    "/{entity}/{project}/groups/{page*}",
    "/{entity}/{project}/sweeps/{page*}",
    "/{entity}/{project}/artifacts/{page*}",
    "/{entity}/{project}/workspace",
  ],
  methods: ["GET"],
  access: "public",
  errors: "text",
  isPage: true,
  open({ consoleDir }) {
    if (consoleDir === undefined) return undefined;
    return async ({ http: { target } }) => {
      const [entity, project, kind = ""] = segmentsOf(target);
      const location = `${stepsToRoot(target, "")}console/${entity}/${project}${wandbScreens[kind] ?? ""}`;
      return textResponse(302, `See ${location}`, { location, vary: "accept" });
    };
  },
};

const segmentsOf = (target: string): string[] =>
  (target.split("?", 1)[0] ?? "").split("/").filter((segment) => segment !== "");

/** What leads a browser from a path back to what is below its first segment; to the address of the service without one. */
function stepsToRoot(target: string, first: string): string {
  const path = (target.split("?", 1)[0] ?? "").replace(/^\/+/, "");
  // Browsers count empty segments, too.
  const below = first === "" ? path : path.slice(first.length + 1);
  return "../".repeat(below.split("/").length - 1) || "./";
}

function sendPage(built: string, base: string, request: HttpRequest): HttpResponse {
  const text = built.replace(baseElement, `<base href="${base}" />`);
  const etag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
  const headers = {
    ...pageHeaders("text/html; charset=utf-8", contentSecurityPolicy),
    "cache-control": "no-cache",
    etag,
  };
  return isKnownTag(request, etag) ? { status: 304, headers } : { status: 200, headers, body: text };
}
