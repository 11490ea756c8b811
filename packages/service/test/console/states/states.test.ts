import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { chromiumPath } from "../browser.js";
import type { Visit } from "../browser.js";
import { openConsole } from "../open-console.js";
import { fillJudgeAndTrain } from "./judge-and-train.js";
import type { Screen } from "./screens.js";
import { fillSeeAndFind } from "./see-and-find.js";

/** What became of the hostile texts on a page. */
async function planted(page: Page): Promise<unknown> {
  return await page.evaluate(`({
    ran: window.planted,
    elements: document.querySelectorAll("img[src='x'], svg[onload]").length,
    turns: document.body.innerText.includes("\\u202E"),
  })`);
}
const nothingPlanted = { ran: undefined, elements: 0, turns: false };

const groups = { "to see and to find": fillSeeAndFind, "to judge and to train": fillJudgeAndTrain };
const all = Object.entries(groups);

describe.skipIf(chromiumPath === undefined).each(all)("the screens %s", { timeout: 240_000 }, (_, fill) => {
  const console_ = openConsole();
  let screens: Record<string, Screen>;
  let share: string | undefined;

  beforeAll(async () => {
    ({ screens, share } = await fill(console_.service));
  }, 240_000);

  const goTo = async ({ page }: Visit, { path, ready }: Screen) => {
    await page.goto(`${console_.url}/console/${path}`);
    await page.locator(ready).first().waitFor();
  };

  test("show hostile texts as texts", async () => {
    const visited = await console_.open("");
    await visited.page.locator(".projects").waitFor();
    for (const [name, screen] of Object.entries(screens)) {
      await goTo(visited, screen);
      expect([name, await planted(visited.page)]).toEqual([name, nothingPlanted]);
    }
    expect(visited.problems).toEqual([]);
    if (share === undefined) return;
    const shared = await console_.look(`${console_.url}/${share}`);
    await shared.page.locator(".tree-body .tree-row").nth(1).waitFor();
    expect(await planted(shared.page)).toEqual(nothingPlanted);
    expect(shared.problems).toEqual([]);
  });

  test("are no wider than a narrow window or one of twice the zoom, in forced colours, and are there when one goes back", async () => {
    const visited = await console_.open("");
    const { page, problems } = visited;
    await page.locator(".projects").waitFor();
    await page.emulateMedia({ forcedColors: "active", reducedMotion: "reduce" });
    const wider: string[] = [];
    for (const [name, screen] of Object.entries(screens)) {
      await goTo(visited, screen);
      // 1280 × 720 at 200 %, and a telephone.
      for (const [width, height] of [
        [640, 360],
        [390, 800],
      ] as const) {
        await page.setViewportSize({ width, height });
        const excess = await page.evaluate(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        if (Number(excess) > 0) wider.push(`${name} at ${width}: by ${String(excess)} pixels`);
      }
    }
    expect(wider).toEqual([]);
    const before = Object.values(screens).toReversed();
    for (const { ready } of before.slice(1)) {
      await page.goBack();
      await page.locator(ready).first().waitFor();
    }
    for (const { ready } of before.toReversed().slice(1)) {
      await page.goForward();
      await page.locator(ready).first().waitFor();
    }
    expect(problems).toEqual([]);
  });

  test("say that the service is away, and are there once it is back", async () => {
    const visited = await console_.open("");
    const { page, problems } = visited;
    await page.locator(".projects").waitFor();
    // All but the files of the console itself.
    const isService = ({ pathname }: URL) => !pathname.startsWith("/console");
    for (const [name, { path, ready }] of Object.entries(screens)) {
      await page.route(isService, async (route) => await route.abort());
      await page.goto(`${console_.url}/console/${path}`);
      await page.getByText("✗ The service does not respond. Trying again…").waitFor();
      await page.unroute(isService);
      await page.locator(ready).first().waitFor();
      await expect.poll(async () => await page.getByText("does not respond").count(), { message: name }).toBe(0);
    }
    expect(problems).toEqual([]);
  });

  test("change nothing for a key that may only read, and say why", async () => {
    const key = await console_.service.key({ user_name: "reader", entity: "local", role: "read" });
    const visited = await console_.open("", key);
    const { page, problems } = visited;
    await page.locator(".projects").waitFor();
    const sent: string[] = [];
    page.on("response", (response) => {
      if (response.status() === 403) sent.push(response.url());
    });
    const why = "Your key may only read.";
    for (const [name, { path, ready, changes = [], saysWhy }] of Object.entries(screens)) {
      await goTo(visited, { path, ready });
      for (const change of changes) {
        const button = page.getByRole("button", { name: change }).first();
        expect([name, change, await button.isDisabled()]).toEqual([name, change, true]);
      }
      // No key that the page has does what its buttons do not.
      for (const key_ of ["Delete", "n", "Control+Enter", "Control+s"]) await page.keyboard.press(key_);
      if (saysWhy) await page.getByText(why).first().waitFor();
    }
    expect(sent).toEqual([]);
    expect(problems).toEqual([]);
  });
});
