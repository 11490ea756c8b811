import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { buildSite } from "../build-site.js";
import { openHeddle, ownerKey } from "../faults/heddle-process.js";
import type { HeddleProcess } from "../faults/heddle-process.js";
import { wire } from "../faults/wire.js";
import { chromiumPath, launch, visit } from "./browser.js";

describe.skipIf(chromiumPath === undefined)("a service that is killed while somebody looks", () => {
  let heddle: HeddleProcess;
  let browser: Browser;

  beforeAll(async () => {
    if (chromiumPath === undefined) return;
    const site = buildSite("console");
    cpSync(site, join(inject("compiled"), "@heddle/console/dist/site"), { recursive: true });
    rmSync(site, { recursive: true });
    [heddle, browser] = await Promise.all([openHeddle(), launch()]);
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await heddle?.remove();
  });

  test("loses nothing: not the session, the cursor or what was chosen, nor a call that came meanwhile", async () => {
    const projectId = "local/killed";
    const write = async (from: number, count: number) => {
      const batch = Array.from({ length: count }, (_, index) => ({
        mode: "start",
        req: {
          start: {
            project_id: projectId,
            id: `call-${from + index}`,
            trace_id: `trace-${from + index}`,
            op_name: `op-${from + index}`,
            started_at: new Date(Date.now() - 60_000 + from + index).toISOString(),
            attributes: {},
            inputs: {},
          },
        },
      }));
      expect((await wire(heddle.url).post("/call/upsert_batch", { batch })).status).toBe(200);
    };
    await write(0, 20);
    const { page, problems } = await visit(browser, `${heddle.url}/console/${projectId}/calls`);
    await page.getByLabel("API key").fill(ownerKey);
    await page.keyboard.press("Enter");
    const current = page.locator(".grid-body [aria-selected=true]");
    await current.getByText("op-19").waitFor();
    for (const key of ["j", "j", "x", "j"]) await page.keyboard.press(key);
    await page.getByText("1 call chosen").waitFor();

    await heddle.end("SIGKILL");
    await page.getByText("The service does not respond. Trying again").waitFor();
    await page.keyboard.press("j");
    await current.getByText("op-15").waitFor();
    await heddle.start();
    await write(20, 3);
    await page.getByText("The service does not respond. Trying again").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "3 new" }).waitFor();
    await current.getByText("op-15").waitFor();
    await page.getByText("1 call chosen").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "op-15", level: 1 }).waitFor();
    expect(problems).toEqual([]);
  });
});
