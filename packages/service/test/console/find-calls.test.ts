import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { newProject } from "../test-service.js";
import { chromiumPath } from "./browser.js";
import { axeInBothSchemes, openConsole } from "./open-console.js";
import { writeCalls } from "./write-calls.js";

describe.skipIf(chromiumPath === undefined)("finding calls in the console", { timeout: 90_000 }, () => {
  const tested = openConsole();
  /** Vitest waits a second, which is short on a busy machine. */
  const patient = { timeout: 30_000 };
  const search = (page: Page) => new URL(page.url()).searchParams;

  test("the histogram has exactly the calls of the table, and bars that are marked are the time shown", async () => {
    const projectId = newProject();
    const early = Array.from({ length: 30 }, (_, index) => ({ name: "early", at: index, ms: 1 }));
    // At one time, so that they are in one bar wherever bars begin.
    const late = Array.from({ length: 5 }, () => ({ name: "late", at: 40_000, ms: 1, exception: "TimeoutError" }));
    await writeCalls(tested.service, projectId, [...early, ...late]);
    const visited = await tested.open(`${projectId}/calls`);
    const { page, problems } = visited;
    const bars = page.getByRole("slider", { name: "Calls over time" });
    const words = async () => (await bars.getAttribute("aria-valuetext")) ?? "";
    await page.getByText("35 calls", { exact: true }).waitFor();
    await expect.poll(words, patient).toMatch(/: 35 calls, 5 failed$/);
    await page.getByLabel("Status").selectOption("failed");
    await expect.poll(words, patient).toMatch(/: 5 calls, 5 failed$/);
    await page.goBack();
    await expect.poll(words, patient).toMatch(/: 35 calls, 5 failed$/);

    // Bars that are marked are not to move on with the time.
    await page.keyboard.press(".");
    await page.getByText("○ not live").waitFor();
    await bars.focus();
    await page.keyboard.press("ArrowLeft");
    for (let step = 0; step < 200 && !/: 5 calls/.test(await words()); step++) await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await page.getByText("5 calls", { exact: true }).waitFor();
    expect(search(page).get("between")).toMatch(/^\d{4}-.*Z\/\d{4}-.*Z$/);
    await expect.poll(words, patient).toMatch(/: 5 calls, 5 failed$/);
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Backspace");
    await page.getByText("35 calls", { exact: true }).waitFor();

    await expect.poll(words, patient).toMatch(/: 35 calls, 5 failed$/);
    const box = await bars.boundingBox();
    if (box === null) throw new Error("no bars");
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + 1, y);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.2 * box.width, y, { steps: 4 });
    await page.mouse.up();
    await page.getByText("30 calls", { exact: true }).waitFor();
    await expect.poll(words, patient).toMatch(/: 30 calls$/);
    await page.reload();
    await page.getByText("30 calls", { exact: true }).waitFor();
    expect(problems).toEqual([]);
  });

  test("facets count the values of the calls of the table, and a click makes one a condition or leaves it out", async () => {
    const projectId = newProject();
    const of = (user: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({
        name: index % 2 === 0 ? "answer" : "search",
        ms: 1,
        inputs: JSON.stringify({ user, n: index }),
      }));
    await writeCalls(tested.service, projectId, [...of("ada", 6), ...of('bob "<b>"', 4)]);
    const visited = await tested.open(`${projectId}/calls`);
    const { page, problems } = visited;
    await page.getByText("10 calls", { exact: true }).waitFor();
    await page.keyboard.press("b");
    const facets = page.getByRole("complementary", { name: "Facets" });
    await facets.getByRole("button", { name: "answer 5" }).click();
    await page.getByText("5 calls", { exact: true }).waitFor();
    // Those that could be chosen instead are still there.
    await facets.getByRole("button", { name: "search 5" }).waitFor();
    await facets.getByRole("button", { name: "inputs.user" }).click();
    await facets.getByRole("button", { name: "ada 3", exact: true }).waitFor();
    await facets.getByRole("button", { name: 'bob "<b>" 2' }).click();
    await page.getByText("2 calls", { exact: true }).waitFor();
    expect(search(page).get("where")).toBe(JSON.stringify([["inputs.user", "=", 'bob "<b>"']]));
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.goBack();
    await page.getByText("5 calls", { exact: true }).waitFor();
    await facets.getByRole("button", { name: 'Leave out bob "<b>"' }).click();
    await page.getByText("3 calls", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("3 calls", { exact: true }).waitFor();
    await page.getByRole("button", { name: /^Drop the condition inputs.user/ }).click();
    await page.getByText("5 calls", { exact: true }).waitFor();
    expect(problems).toEqual([]);
  });

  test("a condition on any field is added by its key, and one that leaves nothing can be dropped", async () => {
    const projectId = newProject();
    await writeCalls(
      tested.service,
      projectId,
      ["1.0", "2", "107505301260286111"].map((n) => ({ ms: 1, output: `{"n":${n}}` })),
    );
    const { page, problems } = await tested.open(`${projectId}/calls`);
    await page.getByText("3 calls", { exact: true }).waitFor();
    const add = async (operator: string, value: string) => {
      await page.keyboard.press("+");
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("field").fill("output.n");
      await dialog.getByLabel("Comparison").selectOption(operator);
      await dialog.getByLabel("value").fill(value);
      await page.keyboard.press("Enter");
      await dialog.waitFor({ state: "detached" });
    };
    await add("=", "1.0");
    await page.getByText("1 call", { exact: true }).waitFor();
    expect(await page.locator(".grid-body [role=row]").innerText()).toContain('{"n":1.0}');
    await page.goBack();
    await page.getByText("3 calls", { exact: true }).waitFor();
    await add("=", "107505301260286111");
    await page.getByText("1 call", { exact: true }).waitFor();
    await add(">", "1e30");
    await page.getByText("There are no such calls").waitFor();
    await page.getByRole("button", { name: "whose output.n > 1e30" }).click();
    await page.getByText("1 call", { exact: true }).waitFor();
    expect(problems).toEqual([]);
  });

  test("columns are chosen from the fields that calls have, and a view keeps them with the conditions", async () => {
    const projectId = newProject();
    await writeCalls(tested.service, projectId, [
      { name: "answer", ms: 1, inputs: '{"question":"why","n":1.0}' },
      { name: "other", ms: 1 },
    ]);
    const visited = await tested.open(`${projectId}/calls?op=answer`);
    const { page, problems } = visited;
    await page.getByText("1 call", { exact: true }).waitFor();
    await page.keyboard.press("c");
    await page.getByRole("heading", { name: "Columns" }).waitFor();
    expect(search(page).get("dialog")).toBe("columns");
    await page.reload();
    await page.getByRole("button", { name: "+ inputs.n" }).click();
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("columnheader", { name: "inputs.n" }).waitFor();
    await page.keyboard.press("v");
    const dialog = page.getByRole("dialog", { name: "Views" });
    await dialog.getByLabel("Save what the table shows as").fill("Späte <b>");
    await page.keyboard.press("Enter");
    await dialog.getByText("Späte <b>").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.goto(`${tested.url}/console/${projectId}/calls`);
    await page.getByText("2 calls", { exact: true }).waitFor();
    await page.keyboard.press("v");
    await dialog.getByText("Späte <b>").click();
    await page.getByText("1 call", { exact: true }).waitFor();
    await page.getByRole("columnheader", { name: "inputs.n" }).waitFor();
    expect(search(page).get("op")).toBe("answer");
    await page.keyboard.press("v");
    await dialog.getByRole("button", { name: /^Delete the view/ }).click();
    await dialog.getByText("There are none.").waitFor();
    expect(problems).toEqual([]);
  });
});
