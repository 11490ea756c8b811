import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { newProject } from "../test-service.js";
import { chromiumPath } from "./browser.js";
import { axeInBothSchemes, openConsole } from "./open-console.js";
import { writeCalls } from "./write-calls.js";

describe.skipIf(chromiumPath === undefined)("finding calls in the console", { timeout: 90_000 }, () => {
  const tested = openConsole();
  const search = (page: Page) => new URL(page.url()).searchParams;

  test("the histogram has exactly the calls of the table, and bars that are marked are the time shown", async () => {
    const projectId = newProject();
    const early = Array.from({ length: 30 }, (_, index) => ({ name: "early", at: index, ms: 1 }));
    const late = Array.from({ length: 5 }, (_, index) => ({
      name: "late",
      at: 40_000 + index,
      ms: 1,
      exception: "TimeoutError",
    }));
    await writeCalls(tested.service, projectId, [...early, ...late]);
    const visited = await tested.open(`${projectId}/calls`);
    const { page, problems } = visited;
    const bars = page.getByRole("slider", { name: "Calls over time" });
    const words = async () => (await bars.getAttribute("aria-valuetext")) ?? "";
    await page.getByText("35 calls", { exact: true }).waitFor();
    await expect.poll(words).toMatch(/: 35 calls, 5 failed$/);
    await page.getByLabel("Status").selectOption("failed");
    await expect.poll(words).toMatch(/: 5 calls, 5 failed$/);
    await page.goBack();
    await expect.poll(words).toMatch(/: 35 calls, 5 failed$/);

    await bars.focus();
    await page.keyboard.press("ArrowLeft");
    for (let step = 0; step < 200 && !/: 5 calls/.test(await words()); step++) await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await page.getByText("5 calls", { exact: true }).waitFor();
    expect(search(page).get("between")).toMatch(/^\d{4}-.*Z\/\d{4}-.*Z$/);
    await expect.poll(words).toMatch(/: 5 calls, 5 failed$/);
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Backspace");
    await page.getByText("35 calls", { exact: true }).waitFor();

    await expect.poll(words).toMatch(/: 35 calls, 5 failed$/);
    const box = await bars.boundingBox();
    if (box === null) throw new Error("no bars");
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + 1, y);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.2 * box.width, y, { steps: 4 });
    await page.mouse.up();
    await page.getByText("30 calls", { exact: true }).waitFor();
    await expect.poll(words).toMatch(/: 30 calls$/);
    await page.reload();
    await page.getByText("30 calls", { exact: true }).waitFor();
    expect(problems).toEqual([]);
  });
});
