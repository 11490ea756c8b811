import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { newProject, ownerKey } from "../test-service.js";
import { chromiumPath } from "./browser.js";
import { axeInBothSchemes, openConsole } from "./open-console.js";

/** Calls that an outline has at most, and how many of the trace are directly below its root. */
const [mostCalls, wide] = [100_000, 100_600];
const atOnce = 10_000;

interface Span {
  id: string;
  parent?: string;
  /** Milliseconds after the root. */
  at: number;
  ms: number;
}

describe.skipIf(chromiumPath === undefined)("a trace of more calls than an outline has", { timeout: 240_000 }, () => {
  const tested = openConsole();
  const projectId = newProject();
  const started = Date.now() - 3_600_000;

  const write = async (spans: readonly Span[]) => {
    const time = (ms: number) => new Date(started + ms).toISOString();
    const batch = spans.map(({ id, parent, at, ms }) => ({
      project_id: projectId,
      id,
      trace_id: "cut",
      ...(parent !== undefined && { parent_id: parent }),
      op_name: id.replace(/ \d+$/, ""),
      started_at: time(at),
      ended_at: time(at + ms),
      attributes: {},
      inputs: {},
      output: null,
      summary: {},
    }));
    const response = await tested.service.fetch(`http://in-process/v2/${projectId}/calls/complete`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${ownerKey}` },
      body: JSON.stringify({ batch }),
    });
    expect([response.status, response.ok ? "" : await response.text()]).toEqual([200, ""]);
  };

  beforeAll(async () => {
    if (chromiumPath === undefined) return;
    const spans: Span[] = [{ id: "root", at: 0, ms: wide + 1000 }];
    for (let index = 0; index < wide; index++)
      spans.push({ id: `step ${index}`, parent: "root", at: index + 1, ms: 1 });
    const end = wide + 10;
    spans.push(
      { id: "agent", parent: "root", at: end, ms: 20 },
      // In a circle, and with an end before its start.
      { id: "one", parent: "agent", at: end + 1, ms: 5 },
      { id: "other", parent: "one", at: end + 2, ms: -2 },
      { id: "circle", parent: "round", at: end + 3, ms: 1 },
      { id: "round", parent: "circle", at: end + 4, ms: 1 },
      { id: "second root", at: end + 5, ms: 1 },
    );
    for (let from = 0; from < spans.length; from += atOnce) await write(spans.slice(from, from + atOnce));
  }, 240_000);

  const current = (page: Page) => page.locator(".tree-body [aria-selected=true]");

  test("says so, and reads what is not there below the call that is opened", async () => {
    const visited = await tested.open(`${projectId}/calls/root`);
    const { page, problems } = visited;
    const tree = page.getByRole("treegrid");
    await page.getByText(`the first 100,000 calls of 100,607`).waitFor();
    // One fold of the root's children, then what is not read.
    const below = tree.getByText("further calls: open to read them");
    await below.click();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByText(`the first 100,499 calls of 100,607`).waitFor();
    // The first of them is under the cursor, where the row was.
    await current(page).getByText("step").waitFor();
    expect(new URL(page.url()).searchParams.get("span")).toBe(`step ${mostCalls - 1}`);
    const fold = async () => {
      await page.keyboard.press("h");
      await page.keyboard.press("h");
    };
    await fold();
    await below.click();
    await page.keyboard.press("l");
    await page.getByText(`the first 100,602 calls of 100,607`).waitFor();
    await current(page).getByText("step").waitFor();
    await fold();
    await tree.getByText("agent", { exact: true }).waitFor();
    expect(await below.count()).toBe(0);
    // One that may have further calls below it has them read when it is opened.
    await tree.getByText("agent", { exact: true }).click();
    await page.keyboard.press("l");
    await tree.getByText("one", { exact: true }).click();
    await page.keyboard.press("l");
    await tree.getByText("other", { exact: true }).waitFor();
    await page.getByText(`the first 100,604 calls of 100,607`).waitFor();
    await tree.getByText("further calls at the top: open to read them").click();
    await page.keyboard.press("Enter");
    await tree.getByText("second root").waitFor();
    expect(await tree.innerText()).not.toContain("−");
    expect(problems).toEqual([]);
  });
});
