// Opens the documentation of a running service in Chromium, every page at the widths of a desktop, a tablet and a phone, in both colour schemes,
// and walks through it by keyboard. Leaves screenshots of each kind of page in dist/look. Exits with 1 for a request to
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
  "404.html",
  "tracing/index.html",
  "tracing/call-start.html",
  "tracing/calls-query-stream.html",
  "tracing/file-create.html",
  "operations.html",
  "tracing/types.html",
  "tracing/errors.html",
  "training/create-chat-completion.html",
];
/** Pages that are looked at side by side. */
const tabs = 2;
const widths = { desktop: 1440, tablet: 1024, phone: 390 };

interface AxeResult {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
}

const problems: string[] = [];

/** Opens a tab; what goes wrong in it becomes a problem. */
async function openTab(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  const report = (what: string) => problem(`${page.url()}: ${what}`);
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") report(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => report(`exception: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${service}/`) && !/^(?:file|data|blob):/.test(request.url()))
      report(`requests ${request.url()}`);
  });
  return page;
}

function problem(text: string): void {
  problems.push(text);
  console.log(text);
}

async function open(page: Page, url: string): Promise<void> {
  await page.goto(url, { waitUntil: "load" });
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  if (Number(overflow) > 0) problem(`${url}: ${String(overflow)} px wider than the window`);
}

/** `rules`: an argument of axe that selects some of them. */
async function checkAxe(page: Page, rules = ""): Promise<void> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResult>(`axe.run(document${rules})`);
  for (const { id, impact, nodes } of violations) {
    const line = `${page.url()}: axe ${impact} ${id}, ${nodes.length} times: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`;
    if (impact === "serious" || impact === "critical") problem(line);
    else console.log(line);
  }
}

/** A page in one width: everything in light, and in dark what differs. */
async function look(page: Page, path: string, width: string): Promise<void> {
  const isKind = kinds.includes(path);
  const picture = (colorScheme: string) => {
    const name = `${path.replaceAll("/", "-").replace(".html", "")}-${width}-${colorScheme}.png`;
    return page.screenshot({ path: join(pictures, name) });
  };
  await page.emulateMedia({ colorScheme: "light" });
  await open(page, `${service}/docs/${path}`);
  await checkAxe(page);
  if (isKind) await picture("light");
  await page.emulateMedia({ colorScheme: "dark" });
  await checkAxe(page, ', { runOnly: ["color-contrast", "link-in-text-block"] }');
  if (isKind) await picture("dark");
}

mkdirSync(pictures, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const [name, width] of Object.entries(widths)) {
  const context = await browser.newContext({ viewport: { width, height: name === "phone" ? 844 : 900 } });
  const left = [...allPages];
  const work = async () => {
    const tab = await openTab(context);
    for (let path = left.pop(); path !== undefined; path = left.pop()) await look(tab, path, name);
  };
  await Promise.all(Array.from({ length: tabs }, work));
  console.log(`${allPages.length} pages, ${name}, light and dark`);
  await context.close();
}
for (const [name, width] of Object.entries(widths)) {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const tab = await openTab(context);
  await open(tab, `${service}/docs/`);
  problems.push(...(await walkByKeyboard(tab, { apiKey, isPhone: name === "phone", pictures })));
  console.log(`keyboard, ${name}`);
  await context.close();
}
const files = await openTab(await browser.newContext({ viewport: { width: widths.desktop, height: 900 } }));
for (const path of kinds) await open(files, pathToFileURL(join(docsDirectory, path)).href);
console.log(`${kinds.length} pages opened from files`);
await browser.close();
console.log(problems.length === 0 ? `no problems; screenshots in ${pictures}` : problems.join("\n"));
if (problems.length > 0) process.exitCode = 1;
