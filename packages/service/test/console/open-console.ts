import { rmSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { openTestService, ownerKey } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { axeFindings, chromiumPath, launch, visit } from "./browser.js";
import type { Visit } from "./browser.js";
import { buildSite } from "../build-site.js";

export interface ConsoleUnderTest {
  readonly service: TestService;
  readonly url: string;
  /** An address, by somebody who has not logged in. */
  look(address: string): Promise<Visit>;
  /** A page of the console, logged in by a key. */
  open(path: string, key?: string): Promise<Visit>;
}

/** A service with the console, and a browser, for the tests of a file; with what `prepare` sets. */
export function openConsole(prepare?: () => Promise<Record<string, string>>): ConsoleUnderTest {
  let browser: Browser;
  let service: TestService;
  let url = "";
  const consoleDir = chromiumPath === undefined ? "" : buildSite("console");
  beforeAll(async () => {
    if (chromiumPath === undefined) return;
    service = await openTestService((await prepare?.()) ?? {}, { consoleDir });
    url = await service.listen();
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
    rmSync(consoleDir, { recursive: true, force: true });
  });
  return {
    get service() {
      return service;
    },
    get url() {
      return url;
    },
    look: async (address) => await visit(browser, address),
    async open(path, key = ownerKey) {
      const visited = await visit(browser, `${url}/console/${path}`);
      await visited.page.getByLabel("API key").fill(key);
      await visited.page.keyboard.press("Enter");
      return visited;
    },
  };
}

/** What axe has to say of a page in light and in dark. */
export async function axeInBothSchemes({ page }: Visit): Promise<string[]> {
  const findings: string[] = [];
  // Figures of a question before are pale until the new ones are there.
  await page.locator(".is-old").first().waitFor({ state: "detached" });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    findings.push(...(await axeFindings(page)).map((finding) => `${colorScheme}: ${finding}`));
  }
  return findings;
}
