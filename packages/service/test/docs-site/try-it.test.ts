import { rmSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { buildSite } from "../build-site.js";
import { chromiumPath, launch, visit } from "../console/browser.js";
import type { Visit } from "../console/browser.js";
import { axeInBothSchemes } from "../console/open-console.js";
import { openTestService, ownerKey } from "../test-service.js";
import type { TestService } from "../test-service.js";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const site = chromiumPath === undefined ? "" : buildSite("docs");
const digits = "107505301260286111";
let service: TestService;
let browser: Browser;
let url = "";

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  service = await openTestService({}, { docsDir: site });
  url = await service.listen();
  browser = await launch();
  for (const op of ["first", "second"]) {
    const body = `{"start": {"project_id": "acme/weaving", "op_name": "${op}", "started_at": "2026-11-01T10:00:00Z",
      "attributes": {}, "inputs": {"number": ${digits}, "place": 1.0}}}`;
    const headers = { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" };
    expect((await fetch(`${url}/call/start`, { method: "POST", headers, body })).status).toBe(200);
  }
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
  rmSync(site, { recursive: true, force: true });
});

/** The form of an operation, with a key. */
async function openForm(page: string): Promise<Visit> {
  const visited = await visit(browser, `${url}/docs/${page}`);
  const key = visited.page.getByLabel("API key");
  await key.fill(ownerKey);
  await key.blur();
  return visited;
}

test.runIf(chromiumPath)(
  "a request is sent to a project of one's own, and its result is a tree and a table",
  async () => {
    const { page, problems } = await openForm("tracing/calls-query.html");
    await expect.poll(async () => await page.locator("select[name=own-project]").inputValue()).toBe("acme/weaving");
    const body = page.locator("textarea[name=body]");
    expect(await body.inputValue()).toContain('"acme/weaving"');
    await body.fill('{"project_id": "acme/weaving"}');
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: "Table" }).click();
    expect(await page.locator(".rows tbody tr").count()).toBe(2);
    expect(await page.locator(".rows").innerText()).toContain(`{"number": ${digits}, "place": 1.0}`);
    await page.getByRole("button", { name: "Tree" }).click();
    expect(await page.locator(".rows").isHidden()).toBe(true);
    await page.locator(".tree summary", { hasText: /^0 / }).click();
    await page.locator(".tree summary", { hasText: "inputs" }).first().click();
    // A branch is filled once the browser has said that it is open.
    await expect.poll(async () => await page.locator(".tree").innerText()).toContain(digits);
    expect(await axeInBothSchemes({ page, problems })).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  },
);

test.runIf(chromiumPath)("lines of JSON are a table, and another response takes their place", async () => {
  const { page, problems } = await openForm("tracing/calls-query-stream.html");
  await page.locator("textarea[name=body]").fill('{"project_id": "acme/weaving"}');
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("button", { name: "Table" }).click();
  expect(await page.locator(".rows tbody tr").count()).toBe(2);
  await page.locator("textarea[name=body]").fill("{}");
  await page.getByRole("button", { name: "Send" }).click();
  await expect.poll(async () => await page.locator(".output").innerText()).toContain("project_id");
  expect(await page.locator(".rows").count()).toBe(0);
  expect(problems).toEqual([]);
  await page.context().close();
});

test.runIf(chromiumPath)("a key is kept for the tab only if asked to", async () => {
  const { page, problems } = await openForm("tracing/call-read.html");
  await page.reload();
  const key = page.getByLabel("API key");
  expect(await key.inputValue()).toBe("");
  await key.fill(ownerKey);
  await page.getByLabel("Keep the key").check();
  await page.goto(`${url}/docs/tracing/calls-query.html`);
  expect(await key.inputValue()).toBe(ownerKey);
  await page.getByLabel("Keep the key").uncheck();
  await page.reload();
  expect(await key.inputValue()).toBe("");
  expect(problems).toEqual([]);
  await page.context().close();
});
