import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { newProject, openTestService, ownerKey } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { axeFindings, chromiumPath, launch, visit, pressTogether } from "./browser.js";
import { buildSite } from "../build-site.js";

async function collected<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const newCall = (projectId: string) => ({
  project_id: projectId,
  op_name: "greet",
  started_at: new Date().toISOString(),
  attributes: {},
  inputs: {},
});

describe.skipIf(chromiumPath === undefined)("the console", () => {
  let browser: Browser;
  let service: TestService;
  let url: string;
  const consoleDir = chromiumPath === undefined ? "" : buildSite("console");

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
    await service.tracing(secret).callStart({ start: newCall(projectId) });
    await page.getByRole("heading", { name: "greet", level: 1 }).waitFor();
    await pressTogether(page, "g", "h");
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

  test("works below a prefix of a proxy, with links and redirects that stay below it", async () => {
    const projectId = newProject();
    await service.tracing().callStart({ start: newCall(projectId) });
    const proxy = createServer((request, response) => {
      const path = request.url?.replace(/^\/team\/heddle/, "") ?? "/";
      const options = { method: request.method, headers: request.headers };
      const forwarded = httpRequest(`${url}${path}`, options, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      // What the service cuts is cut for the browser, too: a page asks on until the end of the test.
      forwarded.on("error", () => response.destroy());
      request.pipe(forwarded);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void proxy.close());
    const { port } = proxy.address() as AddressInfo;
    const prefix = `http://127.0.0.1:${port}/team/heddle`;
    const { page, problems } = await visit(browser, `${prefix}/${projectId}/weave`, { prefix: "/team/heddle" });
    await logIn(page);
    await page.getByRole("grid").getByText("greet").waitFor();
    expect(page.url()).toBe(`${prefix}/console/${projectId}/calls`);
    await page.keyboard.press("Enter");
    await page.getByRole("group", { name: "inputs" }).waitFor();
    await page.reload();
    await page.getByRole("group", { name: "inputs" }).waitFor();
    expect(page.url().startsWith(`${prefix}/console/${projectId}/calls/`)).toBe(true);
    expect(problems).toEqual([]);
  });

  test("while the service does not respond the page says so, and goes on by itself when it does", async () => {
    const projectId = newProject();
    await service.tracing().callStart({ start: newCall(projectId) });
    const { page } = await visit(browser, `${url}/console/${projectId}/calls`);
    await logIn(page);
    await page.getByRole("grid").getByText("greet").waitFor();
    await page.context().setOffline(true);
    await page.getByText("The service does not respond. Trying again").waitFor();
    await service.tracing().callStart({ start: { ...newCall(projectId), op_name: "meanwhile" } });
    await page.context().setOffline(false);
    await page.getByText("The service does not respond").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "1 new" }).click();
    await page.getByRole("grid").getByText("meanwhile").waitFor();
  });

  test("the snippets for TypeScript and curl record a call as they are shown", async () => {
    const secret = await service.key({ entity: "snippets", role: "write" });
    const { page } = await visit(browser, `${url}/console/`);
    await logIn(page, secret);
    await page.getByText("Waiting for the first call").waitFor();
    const directory = mkdtempSync(join(tmpdir(), "heddle-snippets-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const codes = async (language: string) => {
      await page.getByRole("tab", { name: language }).click();
      return await page.getByRole("tabpanel").locator("code").allInnerTexts();
    };
    const [shell = "", program = ""] = await codes("TypeScript");
    const [curl = ""] = await codes("curl");
    symlinkSync(inject("compiled"), join(directory, "node_modules"));
    writeFileSync(join(directory, "first.mjs"), program);
    const run = async (script: string) =>
      await promisify(execFile)("bash", ["-euc", script], {
        cwd: directory,
        env: { ...process.env, HEDDLE_API_KEY: secret },
      });
    await run(`${shell.replace(/^npm.*/, "")}\n${process.execPath} first.mjs`);
    await run(curl);
    const calls = service.tracing(secret).callsQueryStream({ project_id: "snippets/first" });
    expect((await collected(calls)).map(({ output }) => output)).toEqual(["Hello, Ada", "Hello, Ada"]);
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
