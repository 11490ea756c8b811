import { rmSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newProject, openTestService, ownerKey } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { axeFindings, chromiumPath, launch, visit } from "./browser.js";
import { buildConsole } from "./build-console.js";

describe.skipIf(chromiumPath === undefined)("the console", () => {
  let browser: Browser;
  let service: TestService;
  let url: string;
  const consoleDir = chromiumPath === undefined ? "" : buildConsole();

  beforeAll(async () => {
    service = await openTestService({}, { consoleDir });
    url = await service.listen();
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
    rmSync(consoleDir, { recursive: true, force: true });
  });

  const logIn = async (page: Page, key = ownerKey) => {
    await page.getByLabel("API key").fill(key);
    await page.keyboard.press("Enter");
  };

  test("says what is wrong with a key, logs in by one, and shows how to send the first call to this host", async () => {
    const { page, problems } = await visit(browser, `${url}/`);
    await logIn(page, "short");
    await page.getByText("A key has at least 40 characters; this one has 5.").waitFor();
    await logIn(page, "w".repeat(40));
    await page.getByText("does not know this key").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await logIn(page);
    await page.getByRole("heading", { name: "Send the first call" }).waitFor();
    for (const language of ["Python", "OpenTelemetry", "curl", "TypeScript"]) {
      await page.getByRole("tab", { name: language }).click();
      expect(await page.getByRole("tabpanel").innerText()).toContain(url);
    }
    expect(await axeFindings(page)).toEqual([]);
    // The key is kept nowhere.
    expect(await page.evaluate("JSON.stringify({ ...localStorage }) + document.cookie")).not.toContain(ownerKey);
    await page.reload();
    await page.getByRole("heading", { name: "Send the first call" }).waitFor();
    expect(problems).toEqual([]);
  });

  test("a link logs in once, and its code leaves the address", async () => {
    const owner = await service.services.control.keys.verify(ownerKey);
    const { code } = await service.services.control.sessions.createCode(owner!);
    const link = `${url}/console/login#${code}`;
    const { page, problems } = await visit(browser, link);
    await page.getByText("Waiting for the first call").waitFor();
    expect(page.url()).toBe(`${url}/console/`);
    const second = await visit(browser, link);
    await second.page.getByText("The link was used before").waitFor();
    expect(second.page.url()).toBe(`${url}/console/login`);
    expect([...problems, ...second.problems]).toEqual([]);
  });

  test("a key that is revoked in the middle asks for another over the page, which goes on", async () => {
    const { key, secret } = await service.services.control.keys.create({
      user_name: "ann",
      entity: "acme",
      role: "write",
    });
    const { page, problems } = await visit(browser, `${url}/console/acme/none`);
    await logIn(page, secret);
    await page.getByText("has no calls that your key may read").waitFor();
    await service.services.control.keys.revoke(key.id);
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Your session has ended").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    expect(page.url()).toBe(`${url}/console/acme/none/calls`);
    await dialog.getByLabel("API key").fill(ownerKey);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.getByText("has no calls that your key may read").waitFor();
    expect(problems).toEqual([]);
  });

  test("what a program wrote opens by itself; every key that the sheet shows works", async () => {
    const projectId = newProject("zeta");
    const secret = await service.key({ entity: "zeta", role: "write" });
    const { page, problems } = await visit(browser, `${url}/console/`);
    await logIn(page, secret);
    await page.getByText("Waiting for the first call").waitFor();
    const start = {
      project_id: projectId,
      op_name: "greet",
      started_at: new Date().toISOString(),
      attributes: {},
      inputs: {},
    };
    await service.tracing(secret).callStart({ start });
    await page.getByRole("heading", { name: "greet", level: 1 }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.getByRole("heading", { name: "Projects" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Go to the projects").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Control+k");
    await page.keyboard.type("open the");
    await page.keyboard.press("Enter");
    await page.getByRole("grid").getByText("greet").waitFor();
    await page.goBack();
    await page.keyboard.press("/");
    await page.keyboard.type("nothing has this");
    await page.getByText("No project has").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("grid").getByText("greet").waitFor();
    expect(problems).toEqual([]);
  });

  test("log-out in one tab logs out the other", async () => {
    const { page } = await visit(browser, `${url}/console/`);
    await logIn(page);
    await page.locator("summary").waitFor();
    const other = await page.context().newPage();
    await other.goto(`${url}/console/`);
    await other.locator("summary").click();
    await other.getByRole("button", { name: "Log out", exact: true }).click();
    await other.getByLabel("API key").waitFor();
    await page.getByLabel("API key").waitFor();
  });
});
