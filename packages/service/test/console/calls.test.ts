import { rmSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newProject, openTestService, ownerKey } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { axeFindings, chromiumPath, launch, visit, pressTogether } from "./browser.js";
import type { Visit } from "./browser.js";
import { buildSite } from "../build-site.js";
import { writeCalls } from "./write-calls.js";
import type { NewCall } from "./write-calls.js";

describe.skipIf(chromiumPath === undefined)("calls in the console", () => {
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

  const write = (projectId: string, calls: NewCall[]) => writeCalls(service, projectId, calls);

  async function open(path: string): Promise<Visit> {
    const visited = await visit(browser, `${url}/console/${path}`);
    await visited.page.getByLabel("API key").fill(ownerKey);
    await visited.page.keyboard.press("Enter");
    return visited;
  }

  const rows = (page: Page) => page.locator(".grid-body [role=row]");
  const current = (page: Page) => page.locator(".grid-body [aria-selected=true]");
  const exact = '{"price": 1.0, "id": 107505301260286111, "id": 1e300}';

  test("values are shown to the digit, in the table and in the call", async () => {
    const projectId = newProject();
    await write(projectId, [{ id: "exact", ms: 900, inputs: exact, output: "1.0" }]);
    const { page, problems } = await open(`${projectId}/calls`);
    await rows(page).first().waitFor();
    expect(await rows(page).first().innerText()).toContain(exact);
    await page.keyboard.press("Enter");
    const inputs = page.getByRole("group", { name: "inputs" });
    await inputs.waitFor();
    expect((await inputs.locator(".json-value").allInnerTexts()).slice(0, 3)).toEqual([
      "1.0",
      "107505301260286111",
      "1e300",
    ]);
    expect(await axeFindings(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("the table goes to its end and back by keyboard, row by row, and comes back to the call that was open", async () => {
    const projectId = newProject();
    await write(
      projectId,
      Array.from({ length: 1500 }, (_, index) => ({ id: `c${index}`, name: `op-${index}`, at: index, ms: 1 })),
    );
    const { page, problems } = await open(`${projectId}/calls`);
    await current(page).getByText("op-1499", { exact: true }).waitFor();
    await page.getByText("1,500 calls").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press("G");
    await current(page).getByText("op-0", { exact: true }).waitFor();
    for (let step = 1; step <= 30; step++) {
      await page.keyboard.press("k");
      await current(page).getByText(`op-${step}`, { exact: true }).waitFor();
    }
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "op-30", level: 1 }).waitFor();
    await page.keyboard.press("]");
    await page.getByRole("heading", { name: "op-29", level: 1 }).waitFor();
    await page.keyboard.press("Escape");
    await current(page).getByText("op-29", { exact: true }).waitFor();
    await pressTogether(page, "g", "g");
    await current(page).getByText("op-1499", { exact: true }).waitFor();
    expect(await rows(page).count()).toBeLessThan(80);
    expect(problems).toEqual([]);
  });

  test("conditions are in the address, and the last one is dropped by a key where they leave nothing", async () => {
    const projectId = newProject();
    await write(projectId, [
      { name: "fine", ms: 10, inputs: '{"question":"where is my order"}' },
      { name: "broken", ms: 10, exception: "TimeoutError" },
    ]);
    const { page, problems } = await open(`${projectId}/calls`);
    await rows(page).nth(1).waitFor();
    await page.getByLabel("Status").selectOption("failed");
    await page.getByText("1 call", { exact: true }).waitFor();
    await rows(page).getByText("fine", { exact: true }).waitFor({ state: "detached" });
    expect(await rows(page).innerText()).toMatch(/broken[^]*TimeoutError/);
    await page.keyboard.press("/");
    await page.keyboard.type("order");
    await page.keyboard.press("Enter");
    await page.getByText("There are no such calls").waitFor();
    expect(new URL(page.url()).search).toBe("?status=error&text=order");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "that failed" }).click();
    await rows(page).getByText("fine", { exact: true }).waitFor();
    await page.goBack();
    await page.getByText("There are no such calls").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("new calls wait above the table until they are asked for, and running ones end where they are", async () => {
    const projectId = newProject();
    await write(projectId, [{ id: "running", name: "slow" }]);
    const { page, problems } = await open(`${projectId}/calls`);
    await rows(page).getByText("running").waitFor();
    await write(projectId, [
      { id: "running", name: "slow", ms: 5000 },
      { id: "second", name: "second", at: 100, ms: 1 },
    ]);
    await page.getByRole("button", { name: "1 new" }).waitFor();
    await rows(page).getByText("5.00 s").waitFor();
    expect(await rows(page).count()).toBe(1);
    await page.getByRole("button", { name: "1 new" }).click();
    await rows(page).getByText("second", { exact: true }).waitFor();
    expect(problems).toEqual([]);
  });

  test("a call far down that ends is replaced where it is", async () => {
    const projectId = newProject();
    const later = Array.from({ length: 300 }, (_, index) => ({ name: `op-${index}`, at: 1 + index, ms: 1 }));
    await write(projectId, [{ id: "oldest", name: "slow" }, ...later]);
    const { page, problems } = await open(`${projectId}/calls`);
    await page.getByText("301 calls").waitFor();
    await page.keyboard.press("G");
    await current(page).getByText("● running").waitFor();
    await write(projectId, [{ id: "oldest", name: "slow", ms: 5000 }]);
    await current(page).getByText("5.00 s").waitFor();
    expect(problems).toEqual([]);
  });

  test("a trace is a tree with folded neighbours, that keys open and walk through", async () => {
    const projectId = newProject();
    const trace = "t1";
    await write(projectId, [
      { id: "root", name: "agent", trace, ms: 1000 },
      ...Array.from({ length: 30 }, (_, index) => ({
        id: `e${index}`,
        name: "embed",
        trace,
        parent: "root",
        at: 10 + index,
        ms: 5,
      })),
      { id: "bad", name: "search", trace, parent: "root", at: 100, ms: 50, exception: "no index" },
      { id: "orphan", name: "late", trace, parent: "gone", at: 200, ms: 5 },
    ]);
    const { page, problems } = await open(`${projectId}/calls/root`);
    const tree = page.getByRole("treegrid");
    await tree.getByText("×30").waitFor();
    const names = () => tree.locator(".tree-body .tree-name").allInnerTexts();
    expect((await names()).map((name) => name.replaceAll(/\s+/g, " ").trim())).toEqual([
      "▾ agent",
      "▸ embed ×30",
      "search ✗ error",
      "▾ parent gone has not arrived",
      "late",
    ]);
    await page.keyboard.press("n");
    await page.getByText("no index").first().waitFor();
    expect(new URL(page.url()).searchParams.get("span")).toBe("bad");
    await page.keyboard.press("k");
    await page.keyboard.press("l");
    await tree.getByText("embed").nth(1).waitFor();
    expect(await tree.locator(".tree-body [role=row]").count()).toBeGreaterThan(30);
    await page.keyboard.press("h");
    expect(await axeFindings(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("a call that is not there says so, and one of another project is not there", async () => {
    const projectId = newProject();
    await write(projectId, [{ id: "mine", ms: 1 }]);
    const { page, problems } = await open(`${newProject("other")}/calls/mine`);
    await page.getByRole("heading", { name: "There is no such call" }).waitFor();
    await page.goto(`${url}/console/${projectId}/calls/${"x".repeat(256)}`);
    await page.getByRole("heading", { name: "There is no such call" }).waitFor();
    expect(problems).toEqual([]);
  });

  test(
    "whatever a call holds is shown as text: nothing of it runs, and nothing of it hides",
    { timeout: 90_000 },
    async () => {
      const projectId = newProject();
      const texts = [
        "<script>window.planted = 1</script>",
        '<img src=x onerror="window.planted = 1">',
        "<svg onload=window.planted=1><a href=javascript:window.planted=1>x</a></svg>",
        "[x](javascript:window.planted=1)",
        "invoice\u202Etxt.exe",
        "\u001B[31mred\u0007",
        "__proto__",
        "w".repeat(1_000_000),
      ];
      await write(
        projectId,
        texts.map((text, index) => {
          const short = text.slice(0, 100);
          const json = JSON.stringify({ [short]: text, list: [short], text: JSON.stringify({ [short]: short }) });
          return {
            id: `h${index}`,
            name: short,
            trace: "hostile",
            at: index,
            ms: 1,
            inputs: json,
            output: json,
            exception: short,
          };
        }),
      );
      const { page, problems } = await open(`${projectId}/calls`);
      await rows(page)
        .nth(texts.length - 1)
        .waitFor();
      expect(await rows(page).filter({ hasText: "invoice⟨202E⟩txt.exe" }).count()).toBe(1);
      for (const index of texts.keys()) {
        await page.goto(`${url}/console/${projectId}/calls/h${index}`);
        await page.getByRole("group", { name: "output" }).waitFor();
        const unfold = page.getByRole("button", { name: "As JSON" });
        while ((await unfold.count()) > 0) await unfold.first().click();
      }
      expect(await page.evaluate("window.planted")).toBeUndefined();
      expect(problems).toEqual([]);
    },
  );

  test(
    "a value of 5 MB with 50,000 items is opened step by step, by a thread of its own",
    { timeout: 90_000 },
    async () => {
      const projectId = newProject();
      const items = Array.from({ length: 50_000 }, (_, index) => `{"n":${index}.0,"text":"${"x".repeat(80)}"}`);
      await write(projectId, [{ id: "large", ms: 1, output: `[${items.join(",")}]` }]);
      const { page, problems } = await open(`${projectId}/calls/large`);
      const output = page.getByRole("group", { name: "output" });
      await output.getByText("500 shown: show more").waitFor();
      await output.getByText("500 shown: show more").click();
      await output.getByText("1,000 shown: show more").waitFor();
      await output.getByRole("button", { name: /999/ }).click();
      await output.getByText("999.0").waitFor();
      expect(problems).toEqual([]);
    },
  );
});
