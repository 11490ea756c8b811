// Fills projects of a running service and opens the console of it in Chromium: each screen and state, in light and dark, at
// three widths. Leaves pictures in dist/look. Exits with 1 for an error in the console of the browser or a request to another
// host. Needs Chromium (Debian: apt-get install chromium), so it is not part of the tests.
// Run: pnpm build, then HEDDLE_API_KEY=… pnpm look http://127.0.0.1:4680 [part of a name]
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createTracingClient } from "@heddle/client";
import { chromium } from "playwright-core";
import type { Page } from "playwright-core";
import { consoleDirectory } from "../src/index.js";
import { fillLibrary, fillThreads } from "./fill-library.js";
import { fill, fillHostile, fillWide } from "./fill.js";

const service = (process.argv[2] ?? "http://127.0.0.1:4680").replace(/\/$/, "");
const selected = process.argv[3] ?? "";
const apiKey = process.env["HEDDLE_API_KEY"] ?? "";
const pictures = join(consoleDirectory, "../look");
const widths = [1440, 1024, 390];
const console_ = `${service}/console`;

const client = createTracingClient({ baseUrl: service, apiKey });
const { entity } = await client.meRead();
const projects = {
  calls: `${entity}/support-agent`,
  wide: `${entity}/index`,
  hostile: `${entity}/hostile`,
  shop: `${entity}/shop`,
};
const known = new Set((await client.projectsQuery({})).projects.map(({ project_id }) => project_id));
if (!known.has(projects.calls)) await fill(client, projects.calls);
if (!known.has(projects.wide)) await fillWide(client, projects.wide);
if (!known.has(projects.hostile)) await fillHostile(client, projects.hostile);
if (!known.has(projects.shop)) {
  await fillLibrary(client, projects.shop);
  await fillThreads(client, projects.shop);
}

type State = (page: Page) => Promise<unknown>;

const open = (path: string, waitFor: string) => async (page: Page) => {
  await page.goto(`${console_}/${path}`);
  await page.locator(waitFor).first().waitFor();
};
const then =
  (first: State, ...steps: State[]): State =>
  async (page) => {
    for (const step of [first, ...steps]) await step(page);
  };
const press =
  (...keys: string[]): State =>
  async (page) => {
    for (const key of keys) await page.keyboard.press(key);
  };
const waitFor =
  (selector: string): State =>
  async (page) =>
    await page.locator(selector).first().waitFor();

const version = (kind: string, name: string) =>
  open(`${projects.shop}/library/${kind}/${name}/latest`, ".version-part");
const settings = (part: string, of: string) => open(`${projects.shop}/settings/${part}`, of);

const table = open(`${projects.calls}/calls`, ".grid-body .grid-row");
const failed = await client.callsPage({
  project_id: projects.calls,
  limit: 1,
  query: {
    $expr: {
      $and: [
        { $eq: [{ $getField: "summary.weave.status" }, { $literal: "error" }] },
        { $eq: [{ $getField: "op_name" }, { $literal: "agent.answer" }] },
      ],
    },
  },
});
const chat = await client.callsPage({ project_id: projects.calls, limit: 1, filter: { op_names: ["chat"] } });
const chatId = chat.calls[0]?.id ?? "";
const failedId = failed.calls[0]?.id ?? "";

/** What is looked at when somebody is logged in. */
const states: Record<string, State> = {
  home: open("", ".projects"),
  "home-nothing-found": then(
    open("", ".projects"),
    async (page) => await page.getByLabel("Filter projects").fill("zzz"),
  ),
  calls: table,
  "calls-cursor": then(table, press("j", "j", "j")),
  "calls-failed": open(`${projects.calls}/calls?status=error`, ".grid-body .grid-row"),
  "calls-end": then(table, press("G"), waitFor(".grid-body .is-current:last-child")),
  "calls-empty": open(`${projects.calls}/calls?status=error&op=none&since=1h`, ".calls-empty"),
  "calls-of-new-project": open(`${entity}/brand-new/calls`, ".calls-empty"),
  "calls-columns": open(`${projects.calls}/calls?dialog=columns`, ".columns-fields"),
  "calls-condition": open(`${projects.calls}/calls?dialog=condition`, "dialog"),
  "calls-views": open(`${projects.calls}/calls?dialog=views`, "dialog"),
  "calls-facets": then(
    open(
      `${projects.calls}/calls?panel=facets&where=${encodeURIComponent('[["attributes.deployment","=","eu-1"]]')}`,
      ".grid-row",
    ),
    waitFor(".facets-field"),
  ),
  "calls-facets-hostile": then(
    open(`${projects.hostile}/calls?panel=facets`, ".grid-body .grid-row"),
    waitFor(".facets-field"),
  ),
  "calls-range": open(`${projects.calls}/calls?between=2026-01-01T00:00:00Z/..&status=error`, ".histogram rect"),
  "calls-chosen": then(table, press("x", "j", "x"), waitFor(".chosen-bar")),
  "calls-delete": open(`${projects.calls}/calls?chosen=*&act=delete&status=error`, ".action-form label"),
  "calls-queue": open(`${projects.calls}/calls?chosen=*&act=queue`, ".action-form label"),
  "calls-dataset": open(`${projects.calls}/calls?chosen=*&act=dataset`, ".action-form label"),
  "calls-feedback": open(`${projects.calls}/calls?chosen=*&act=feedback`, ".action-form label"),
  "calls-hostile": open(`${projects.hostile}/calls`, ".grid-body .grid-row"),
  "call-failed": open(`${projects.calls}/calls/${failedId}`, ".span-part"),
  "call-chat": then(open(`${projects.calls}/calls/${chatId}?span=${chatId}`, ".conversation"), waitFor(".cost")),
  "call-json": open(`${projects.calls}/calls/${chatId}?show=json`, ".json-node"),
  "call-wide": open(`${projects.wide}/calls/wide-root`, ".span-part"),
  "call-hostile": open(`${projects.hostile}/calls/hostile-bidi`, ".span-part"),
  "call-unknown": open(`${projects.calls}/calls/none`, ".call-note"),
  threads: open(`${projects.shop}/threads`, ".grid-body .grid-row"),
  "threads-by-cost": open(`${projects.shop}/threads?since=7d&sort=cost`, ".grid-body .grid-row"),
  "threads-empty": open(`${entity}/brand-new/threads`, ".threads-note"),
  thread: open(`${projects.shop}/threads/customer-8843`, ".turn-happened"),
  library: open(`${projects.shop}/library`, ".grid-body .grid-row"),
  "library-empty": open(`${projects.shop}/library/models`, ".library-note"),
  "library-dataset": then(version("datasets", "customer-questions"), waitFor(".rows-one")),
  "library-dataset-changes": then(
    version("datasets", "customer-questions"),
    press("="),
    waitFor(".diff-skipped + .diff"),
  ),
  "library-prompt": version("prompts", "support-prompt"),
  "library-op-changes": then(version("ops", "retrieve"), press("="), waitFor(".diff")),
  "library-alias": then(version("prompts", "support-prompt"), press("a"), waitFor("dialog")),
  "library-unknown": open(`${projects.shop}/library/ops/none/v3`, "h1"),
  "settings-usage": settings("usage", ".day-bars"),
  "settings-members": settings("members", ".settings .prose"),
  "settings-retention": settings("retention", ".plain-table"),
  "settings-keys": open("settings/keys", ".settings-bar"),
  "settings-new-key": then(open("settings/keys", ".settings-bar"), press("n"), waitFor("dialog")),
  "settings-system": open("settings/system", ".system"),
  keys: then(table, press("?"), waitFor("dialog")),
  palette: then(table, press("Control+k"), waitFor("dialog")),
  menu: then(open("", ".projects"), async (page) => await page.locator("summary").click()),
};

const problems: string[] = [];
mkdirSync(pictures, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const width of widths) {
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    page.on("console", (message) => {
      // A status that is an error is reported by the browser as one; what the page makes of it is seen.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        problems.push(`${page.url()}: ${message.text()}`);
    });
    page.on("pageerror", ({ message }) => problems.push(`${page.url()}: ${message}`));
    page.on("request", (request) => {
      if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(service)) problems.push(request.url());
    });
    const picture = (name: string) => page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`) });
    await page.goto(`${console_}/`);
    await page.getByLabel("API key").waitFor();
    if ("log-in".includes(selected)) await picture("log-in");
    await page.getByLabel("API key").fill(apiKey);
    await page.keyboard.press("Enter");
    await page.locator(".projects").waitFor();
    for (const [name, state] of Object.entries(states)) {
      if (!name.includes(selected)) continue;
      await state(page);
      // Until what was said is painted.
      await page.waitForTimeout(250);
      const overflow = await page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth",
      );
      if (Number(overflow) > 0) problems.push(`${name} at ${width}: ${String(overflow)} px wider than the window`);
      await picture(name);
    }
    await context.close();
  }
}
await browser.close();
console.log(problems.length === 0 ? `no problems; pictures in ${pictures}` : problems.join("\n"));
if (problems.length > 0) process.exitCode = 1;
