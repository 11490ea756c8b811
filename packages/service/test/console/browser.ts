import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { unspecified } from "./unspecified.js";

/** Debian's, or that of `CHROMIUM`. Undefined where none is installed. */
export const chromiumPath: string | undefined = [
  process.env["CHROMIUM"] ?? "",
  ...(process.env["PATH"] ?? "")
    .split(delimiter)
    .flatMap((path) => [join(path, "chromium"), join(path, "google-chrome")]),
].find((path) => path !== "" && existsSync(path));

if (chromiumPath === undefined)
  console.log("no chromium on the PATH: the tests of the console in a browser are skipped");

export const launch = async (): Promise<Browser> =>
  await chromium.launch({ executablePath: chromiumPath ?? "", args: ["--no-sandbox"] });

export interface Visit {
  page: Page;
  /** What went wrong on the page: errors, violations of the policy, requests to others or outside of the specification. */
  problems: string[];
}

/** A browser of somebody new, at a page of the console. `prefix` is that of a proxy, where the address does not show it. */
export async function visit(
  browser: Browser,
  url: string,
  { prefix: given, ...options }: BrowserContextOptions & { prefix?: string } = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  // A machine that does much else at the same time is slow; what never comes fails all the same.
  context.setDefaultTimeout(90_000);
  const problems: string[] = [];
  const page = await context.newPage();
  page.on("pageerror", ({ message }) => problems.push(`exception: ${message}`));
  page.on("console", (message) => {
    // A status that is an error is reported by the browser as one; what the page makes of it is tested.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      problems.push(message.text());
  });
  const { origin, pathname } = new URL(url);
  // Of a proxy, before the console.
  const prefix = given ?? /^(.*)\/(?:console|docs)(?:\/|$)/.exec(pathname)?.[1] ?? "";
  page.on("request", (request) => {
    if (/^(?:data|blob):/.test(request.url())) return;
    const to = new URL(request.url());
    const unknown =
      to.origin === origin
        ? request.isNavigationRequest()
          ? undefined
          : unspecified(request.method(), to.pathname, prefix)
        : `requests ${request.url()}`;
    if (unknown !== undefined) problems.push(unknown);
  });
  await page.addInitScript(`document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
    console.error("policy: " + violatedDirective + " " + blockedURI))`);
  await page.goto(url);
  return { page, problems };
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResult {
  violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** What axe has to say of a page. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResult>("axe.run(document)");
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}

/** Presses keys that are one command, such as `g` and `h`, at once: on a busy machine the second would come too late. */
export async function pressTogether(page: Page, ...keys: string[]): Promise<void> {
  await Promise.all(keys.flatMap((key) => [page.keyboard.down(key), page.keyboard.up(key)]));
}
