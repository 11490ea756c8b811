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

  test("a search of many looks goes on by itself, says how far it has looked, and stops by a key", async () => {
    const projectId = newProject();
    await writeCalls(tested.service, projectId, [{ name: "answer", ms: 1, inputs: '{"q":"a loom"}' }]);
    const visited = await tested.open(`${projectId}/calls`);
    const { page, problems } = visited;
    await page.getByText("1 call", { exact: true }).waitFor();
    // As of a project with so many calls that a look ends before it has found one.
    const asked: (string | undefined)[] = [];
    await page.route("**/calls/page", async (route) => {
      const body = route.request().postDataJSON() as { search?: object; after?: string };
      if (body.search === undefined) return await route.continue();
      asked.push(body.after);
      const look = Number(body.after ?? 0);
      // It is stopped at the third.
      if (look === 2 && asked.length === 3) return undefined;
      const { after: _after, ...first } = body;
      if (look === 3) return await route.continue({ postData: JSON.stringify(first) });
      const search = { complete: false, searched_to: `2026-01-0${3 - look}T12:00:00Z` };
      return await route.fulfill({ json: { calls: [], next: String(look + 1), has_more: true, seq: "1", search } });
    });
    await page.keyboard.press("/");
    await page.keyboard.type("loom");
    await page.keyboard.press("Enter");
    const said = page.getByText(/Looked back to .*2.*, 0 found so far; looking further…/);
    await expect.poll(() => asked, patient).toEqual([undefined, "1", "2"]);
    await said.waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.getByRole("grid").focus();
    await page.keyboard.press("m");
    await page.getByText(/Looked back to .*, 0 found\./).waitFor();
    expect(asked.length).toBe(3);
    await page.getByRole("button", { name: "Look further" }).click();
    await page.getByRole("grid").getByText("answer").waitFor();
    expect(asked).toEqual([undefined, "1", "2", "2", "3"]);
    await page.getByText("Looked back").waitFor({ state: "detached" });
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

  test("a condition on a user has the name of the user, wherever it is said", async () => {
    const projectId = newProject("local");
    const key = await tested.service.key({ user_name: "ada", entity: "local", role: "write" });
    await writeCalls(tested.service, projectId, [{ ms: 1 }, { ms: 1 }], { key });
    await writeCalls(tested.service, projectId, [{ ms: 1 }]);
    const visited = await tested.open(`${projectId}/calls?panel=facets`);
    const { page, problems } = visited;
    const facets = page.getByRole("complementary", { name: "Facets" });
    await facets.getByRole("region", { name: "user" }).getByRole("button", { name: "ada 2" }).click();
    await page.getByText("2 calls", { exact: true }).waitFor();
    const condition = page.getByRole("group", { name: "Which calls are shown" });
    await condition.getByText("user = ada").waitFor();
    await page.goto(`${page.url()}&op=none`);
    await page.getByRole("button", { name: "whose user = ada" }).waitFor();
    await condition.getByRole("button", { name: "Drop the condition user = ada" }).click();
    await page.getByRole("button", { name: "of none" }).waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("the rail at the edge is the time of all calls, and shows those of another time", async () => {
    const projectId = newProject();
    const calls = Array.from({ length: 500 }, (_, index) => ({
      id: `c${index}`,
      name: `call ${index}`,
      at: index * 10,
      ms: 1,
    }));
    await writeCalls(tested.service, projectId, calls);
    const visited = await tested.open(`${projectId}/calls`);
    const { page, problems } = visited;
    const current = page.locator(".grid-body [aria-selected=true]");
    await current.getByText("call 499").waitFor();
    const rail = page.getByRole("slider", { name: "Time of the calls" });
    expect(await rail.getAttribute("aria-valuenow")).toBe("100");
    await rail.focus();
    for (let step = 0; step < 5; step++) await page.keyboard.press("PageDown");
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("Enter");
    // Half of them are older.
    await current.getByText(/^call 2[2-7]\d$/).waitFor();
    const begun = await current.innerText();
    expect(search(page).get("t")).toMatch(/Z$/);
    // Later ones are read above it, and it stays where it is.
    await expect.poll(async () => Number(await current.getAttribute("aria-rowindex")), patient).toBeGreaterThan(200);
    await expect.poll(async () => Number(await rail.getAttribute("aria-valuenow")), patient).toBeLessThan(60);
    expect(await current.innerText()).toBe(begun);
    const grid = await page.getByRole("grid").boundingBox();
    expect((await current.boundingBox())?.y).toBeLessThan((grid?.y ?? 0) + 100);
    await page.reload();
    await current.getByText(/^call 2[2-7]\d$/).waitFor();
    expect((await current.innerText()).split("\n")[2]).toBe(begun.split("\n")[2]);
    const box = await rail.boundingBox();
    if (box === null) throw new Error("no rail");
    await page.mouse.click(box.x + 4, box.y + box.height - 1);
    await current.getByText(/^call \d\d?$/).waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("Home");
    await current.getByText("call 499").waitFor();
    expect(search(page).get("t")).toBeNull();
    expect(problems).toEqual([]);
  });

  test("columns stay in the window beside the facets, and pinned ones when the table is scrolled sideways", async () => {
    const projectId = newProject();
    await writeCalls(tested.service, projectId, [
      { name: "answer", ms: 1, inputs: '{"a":1.0,"b":2,"c":3,"d":4}', output: '"yes"' },
    ]);
    const visited = await tested.open(`${projectId}/calls?panel=facets`);
    const { page, problems } = visited;
    const grid = page.getByRole("grid", { name: "Calls" });
    await grid.getByText("answer").waitFor();
    expect(
      await page.evaluate("document.querySelector('.grid').scrollWidth - document.querySelector('.grid').clientWidth"),
    ).toBe(0);
    await page.keyboard.press("c");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox").fill("inputs.a\ninputs.b\ninputs.c\ninputs.d\noutput\nattributes\nsummary");
    await dialog.getByRole("checkbox", { name: "inputs.a" }).check();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await dialog.getByRole("button", { name: "Show" }).click();
    await grid.getByText("1.0").waitFor();
    expect(search(page).get("pin")).toBe("name,inputs.a");
    await page.evaluate("document.querySelector('.grid').scrollTo(9999, 0)");
    const placeOf = async (text: string) =>
      (await grid.locator(".grid-body").getByText(text, { exact: true }).boundingBox())?.x ?? -1;
    const left = (await grid.boundingBox())?.x ?? 0;
    await expect.poll(() => placeOf("1.0"), patient).toBeGreaterThan(await placeOf("answer"));
    expect(await placeOf("answer")).toBeGreaterThanOrEqual(left);
    expect((await grid.getByRole("columnheader", { name: "status" }).boundingBox())?.x).toBeLessThan(left);
    expect(problems).toEqual([]);
  });

  test("columns are resized by the pointer and by numbers, and the address keeps it", async () => {
    const projectId = newProject();
    await writeCalls(tested.service, projectId, [{ name: "answer", ms: 1, inputs: '{"a":1.0}' }]);
    const visited = await tested.open(`${projectId}/calls`);
    const { page, problems } = visited;
    const grid = page.getByRole("grid", { name: "Calls" });
    await grid.getByText("answer").waitFor();
    const head = grid.getByRole("columnheader", { name: "name" });
    const widthOf = async () => Math.round((await head.boundingBox())?.width ?? 0);
    const before = await widthOf();
    const handle = head.locator(".grid-resize");
    const box = await handle.boundingBox();
    if (box === null) throw new Error("no handle");
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 60, y, { steps: 3 });
    await expect.poll(widthOf, patient).toBe(before + 60);
    await page.mouse.up();
    await expect.poll(() => search(page).get("widths"), patient).toBe(`name:${before + 60}`);
    await page.reload();
    await grid.getByText("answer").waitFor();
    await expect.poll(widthOf, patient).toBe(before + 60);
    // By keys alone; a width that cannot be is not taken.
    await page.keyboard.press("c");
    const dialog = page.getByRole("dialog");
    const width = dialog.getByLabel("Width of name", { exact: true });
    expect(await width.inputValue()).toBe(String(before + 60));
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await width.fill("1");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.validity.valid")).toBe(false);
    await width.fill("300");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await expect.poll(widthOf, patient).toBe(300);
    await handle.dblclick();
    await expect.poll(widthOf, patient).toBe(before);
    expect(search(page).get("widths")).toBeNull();
    expect(problems).toEqual([]);
  });
});
