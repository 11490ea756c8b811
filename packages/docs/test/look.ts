// Opens the documentation of a running service in Chromium: every page at desktop and phone width, one of each kind in
// both colour schemes, and walks through it by keyboard. Leaves screenshots in dist/look. Exits with 1 for a request to
// another host, an error in the console, text wider than the window, or a serious finding of axe.
// Needs Chromium (Debian: apt-get install chromium), so it is not part of the tests.
// Run: pnpm build, then HEDDLE_API_KEY=… pnpm look http://127.0.0.1:4680
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import type { BrowserContext, Page } from "playwright-core";
import { docsDirectory } from "../src/index.js";
import { walkByKeyboard } from "./keyboard-walk.js";

/** Only pages whose names contain this text. */
const selected = process.argv[3] ?? "";
const service = (process.argv[2] ?? "http://127.0.0.1:4680").replace(/\/$/, "");
const apiKey = process.env["HEDDLE_API_KEY"] ?? "";
const pictures = join(docsDirectory, "../look");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const allPages = readdirSync(docsDirectory, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".html") && name.includes(selected))
  .toSorted();
/** One page of each kind. */
const kinds = [
  "index.html",
  "guides/getting-started.html",
  "changelog.html",
  "tracing/index.html",
  "tracing/call-start.html",
  "tracing/calls-query-stream.html",
  "tracing/file-create.html",
  "operations.html",
  "tracing/types.html",
  "tracing/errors.html",
  "training/create-chat-completion.html",
];
const widths = { desktop: 1366, phone: 390 };

interface AxeResult {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
}

const problems: string[] = [];

/** Opens a page; what is wrong with it becomes a problem. */
async function visit(context: BrowserContext, url: string, check: (page: Page) => Promise<void>): Promise<void> {
  const page = await context.newPage();
  const report = (what: string) => {
    problems.push(`${url}: ${what}`);
    console.log(problems.at(-1));
  };
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") report(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => report(`exception: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${service}/`) && !/^(?:file|data|blob):/.test(request.url()))
      report(`requests ${request.url()}`);
  });
  await page.goto(url, { waitUntil: "load" });
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  if (Number(overflow) > 0) report(`${String(overflow)} px wider than the window`);
  await check(page);
  await page.close();
}

async function checkAxe(page: Page): Promise<void> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResult>("axe.run()");
  for (const { id, impact, nodes } of violations) {
    const line = `${page.url()}: axe ${impact} ${id}, ${nodes.length} times: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`;
    if (impact === "serious" || impact === "critical") problems.push(line);
    else console.log(line);
  }
}

mkdirSync(pictures, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const [name, width] of Object.entries(widths)) {
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({
      colorScheme,
      viewport: { width, height: name === "phone" ? 844 : 900 },
    });
    const pages = colorScheme === "light" ? allPages : kinds;
    for (const path of pages) {
      await visit(context, `${service}/docs/${path}`, async (page) => {
        if (!kinds.includes(path)) return;
        await checkAxe(page);
        const picture = `${path.replaceAll("/", "-").replace(".html", "")}-${name}-${colorScheme}.png`;
        await page.screenshot({ path: join(pictures, picture) });
      });
    }
    console.log(`${pages.length} pages, ${name}, ${colorScheme}`);
    await context.close();
  }
}
for (const [name, width] of Object.entries(widths)) {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    permissions: ["clipboard-read", "clipboard-write"],
  });
  await visit(context, `${service}/docs/`, async (page) => {
    problems.push(...(await walkByKeyboard(page, { apiKey, isPhone: name === "phone", pictures })));
  });
  console.log(`keyboard, ${name}`);
  await context.close();
}
const files = await browser.newContext({ viewport: { width: widths.desktop, height: 900 } });
for (const path of kinds) await visit(files, pathToFileURL(join(docsDirectory, path)).href, async () => {});
console.log(`${kinds.length} pages opened from files`);
await browser.close();
console.log(problems.length === 0 ? `no problems; screenshots in ${pictures}` : problems.join("\n"));
if (problems.length > 0) process.exitCode = 1;
