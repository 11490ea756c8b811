import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { newProject, ownerKey } from "../test-service.js";
import { chromiumPath } from "./browser.js";
import { openConsole } from "./open-console.js";
import { writeCalls } from "./write-calls.js";

/** A machine that does much else is slow. */
const patient = { timeout: 60_000 };

describe.skipIf(chromiumPath === undefined)("bad input in the console", { timeout: 240_000 }, () => {
  const tested = openConsole();
  const projectId = newProject();
  const deep = `${'{"below":'.repeat(200)}"the deepest"${"}".repeat(200)}`;
  const wide = `{${Array.from({ length: 200_000 }, (_, index) => `"k${index}":${index}.0`).join(",")}}`;
  const digits = `1${"0".repeat(300)}`;

  beforeAll(async () => {
    if (chromiumPath === undefined) return;
    await writeCalls(tested.service, projectId, [
      {
        id: "exact",
        ms: 1,
        inputs: `{"a":1.0,"a":"twice","half":"\\ud800 and \\udc00","great":${digits},"power":1e300,"empty":"","":[]}`,
      },
      { id: "deep", ms: 1, inputs: deep },
      { id: "wide", ms: 1, output: wide },
      { id: "x", name: "x", trace: "circle", parent: "y", ms: 1 },
      { id: "y", name: "y", trace: "circle", parent: "x", ms: 1 },
      { id: "self", name: "self", trace: "circle", parent: "self", ms: 1 },
      { id: "orphan", name: "orphan", trace: "rootless", parent: "nobody", at: 5, ms: 5 },
      { id: "early", name: "early", trace: "rootless", parent: "nobody", at: 9, ms: -5000 },
      { id: "a%2Fb", name: "../..", trace: "a%2Fb", ms: 1 },
      { id: "<b>", name: "<b>", trace: "<b>", ms: 1 },
    ]);
  });

  const inputsOf = (page: Page) => page.getByRole("group", { name: "inputs" });

  test("keys that come twice, halves of characters and great numbers are shown as they were sent", async () => {
    const { page, problems } = await tested.open(`${projectId}/calls/exact`);
    const inputs = inputsOf(page);
    await inputs.getByText("twice").waitFor();
    expect(await inputs.locator(".json-key").allInnerTexts()).toEqual([
      "a",
      "a",
      "half",
      "great",
      "power",
      "empty",
      "",
    ]);
    const values = await inputs.locator(".json-value").allInnerTexts();
    expect(values.map((text) => text.trim())).toEqual([
      "1.0",
      "twice",
      expect.stringMatching(/^\\+ud800 and \\+udc00$/),
      digits,
      "1e300",
      "",
    ]);
    expect(problems).toEqual([]);
  });

  test("what is two hundred levels down, and the last of two hundred thousand members, is found", async () => {
    const { page, problems } = await tested.open(`${projectId}/calls/deep?words=deepest`);
    await inputsOf(page).getByText("the deepest").waitFor();
    await page.goto(`${tested.url}/console/${projectId}/calls/wide`);
    const output = page.getByRole("group", { name: "output" });
    await output.getByText("500 shown: show more").waitFor();
    await output.getByText("499.0", { exact: true }).waitFor();
    expect(problems).toEqual([]);
  });

  test("traces with parents in circles, without a root, and with ends before starts are trees", async () => {
    const { page, problems } = await tested.open(`${projectId}/calls/x`);
    const tree = page.getByRole("treegrid");
    await page.getByText(/✗ \d circles? of parents/).waitFor();
    for (const name of ["x", "y", "self"]) await tree.getByText(name, { exact: true }).first().waitFor();
    await page.goto(`${tested.url}/console/${projectId}/calls/early`);
    await tree.getByText("orphan").waitFor();
    await tree.getByText("early").first().waitFor();
    expect(await page.locator("body").innerText()).not.toMatch(/NaN|Infinity/);
    expect(problems).toEqual([]);
  });

  test("names and ids that look like paths or markup lead to what they name", async () => {
    const { page, problems } = await tested.open(`${projectId}/calls`);
    for (const [id, name] of [
      ["a%2Fb", "../.."],
      ["<b>", "<b>"],
    ] as const) {
      await page.goto(`${tested.url}/console/${projectId}/calls`);
      await page.getByRole("grid").getByText(name, { exact: true }).first().dblclick();
      await page.getByRole("heading", { name, level: 1 }).waitFor();
      await page.reload();
      await page.getByRole("heading", { name, level: 1 }).waitFor();
      expect(new URL(page.url()).pathname).toBe(`/console/${projectId}/calls/${encodeURIComponent(id)}`);
    }
    expect(problems).toEqual([]);
  });

  const screens = [
    "calls",
    "calls/exact",
    "compare",
    "threads",
    "threads/none",
    "library",
    "library/datasets/none/v1",
    "evaluations",
    "queues",
    "queues/none",
    "play",
    "training",
    "training/none",
    "settings/usage",
  ];
  const parameters =
    "op status since between only text thread where panel sort cols pin widths chosen act dialog at show span find words zoom a b base vs open call models set job x step group rollout item turn o by".split(
      " ",
    );

  test.each([
    ["cut", "[["],
    ["markup", "<script>window.planted=true</script>"],
    ["no number", "-1e999"],
    ["long", "x".repeat(256)],
  ])("addresses by hand with parameters that are %s show their screen", async (_, value) => {
    const { page, problems } = await tested.open(`${projectId}/calls`);
    await page.getByRole("grid").waitFor();
    const broken: string[] = [];
    const query = parameters.map((name) => `${name}=${encodeURIComponent(value)}`).join("&");
    for (const screen of screens) {
      await page.goto(`${tested.url}/console/${projectId}/${screen}?${query}&half=%E0%A4%A&%`);
      await page.locator("main, dialog").first().waitFor();
      // What is read is there, or what is wrong is said.
      await expect.poll(async () => await page.getByText(/^(?:Loading|Reading) /).count(), patient).toBe(0);
      if ((await page.getByText("The screen cannot be shown").count()) > 0) broken.push(screen);
    }
    expect(broken).toEqual([]);
    expect(await page.evaluate("window.planted")).toBeUndefined();
    expect(problems).toEqual([]);
  });

  test("addresses of foreign projects, and such as are none, say so", async () => {
    const secret = await tested.service.key({ entity: "other", role: "write" });
    const { page, problems } = await tested.open("", secret);
    await page.getByRole("heading").first().waitFor();
    for (const path of [`${projectId}/calls`, `${projectId}/calls/exact`, `${projectId}/queues`]) {
      await page.goto(`${tested.url}/console/${path}`);
      await page.getByRole("alert").first().waitFor();
      expect(await page.getByText("the deepest").count()).toBe(0);
    }
    for (const path of ["%E0%A4%A", "a/b/c/d/e/f", `${"x".repeat(256)}/y/nothing`]) {
      await page.goto(`${tested.url}/console/${path}`);
      await page.getByText("There is no such page").waitFor();
    }
    expect(problems).toEqual([]);
  });

  test("a browser that refuses its storage logs in, for as long as the page is open", async () => {
    const { page, problems } = await tested.look(`${tested.url}/console/${projectId}/calls`);
    await page.addInitScript(
      `Object.defineProperty(window, "localStorage", { get() { throw new DOMException("refused", "SecurityError"); } })`,
    );
    await page.reload();
    await page.getByLabel("API key").fill(ownerKey);
    await page.keyboard.press("Enter");
    await page.getByRole("grid").getByText("../..").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(problems).toEqual([]);
  });

  test("a clock that is put back shows no negative times, and new calls come", async () => {
    const own = newProject();
    await writeCalls(tested.service, own, [{ id: "long", name: "long" }], { since: 0 });
    const { page, problems } = await tested.open(`${own}/calls`);
    await page.getByRole("grid").getByText("long").waitFor();
    await page.evaluate("{ const now = Date.now; Date.now = () => now() - 3_600_000; }");
    await writeCalls(tested.service, own, [{ id: "new", name: "new", ms: 1 }], { since: 0 });
    await page.getByRole("grid").getByText("new", { exact: true }).or(page.getByText("1 new")).first().waitFor();
    expect(await page.getByRole("grid").innerText()).not.toMatch(/-\d+(?:\.\d)? (?:ms|s|min|h)/);
    expect(problems).toEqual([]);
  });

  test("eight pages of one browser are all read and kept up to date, though it has six connections", async () => {
    const own = newProject();
    await writeCalls(tested.service, own, [{ id: "first", name: "first", ms: 1 }]);
    const { page, problems } = await tested.open(`${own}/calls`);
    await page.getByRole("grid").getByText("first").waitFor();
    const pages = [page];
    while (pages.length < 8) {
      const next = await page.context().newPage();
      await next.goto(`${tested.url}/console/${own}/calls`);
      await next.getByRole("grid").getByText("first").waitFor();
      pages.push(next);
    }
    await writeCalls(tested.service, own, [{ id: "second", name: "second", ms: 1 }], { since: 0 });
    for (const one of pages) await one.getByText("1 new").or(one.getByText("second")).first().waitFor();
    expect(problems).toEqual([]);
  });
});
