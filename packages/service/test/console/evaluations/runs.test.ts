import { describe, expect, test } from "vitest";
import { newProject } from "../../test-service.js";
import { chromiumPath, pressTogether } from "../browser.js";
import { axeInBothSchemes, openConsole } from "../open-console.js";
import { writeRun } from "./write-run.js";

describe.skipIf(chromiumPath === undefined)("evaluation runs in the console", () => {
  const console_ = openConsole();

  test(
    "runs are listed with means that failed scores do not lower; one is cancelled",
    { timeout: 120_000 },
    async () => {
      const projectId = newProject();
      const right = (n: number, scores: Record<string, unknown>) => ({ inputs: { n }, output: `out ${n}`, scores });
      await writeRun(console_.service, projectId, {
        model: "first",
        rows: [
          right(1, { judge: { correct: true } }),
          right(2, { judge: { correct: true } }),
          right(3, { judge: { correct: false } }),
          right(4, {}),
        ],
      });
      await writeRun(console_.service, projectId, { model: "empty", rows: [] });
      // Of mixed kinds, with a text of users that is not markup.
      const mixed = [1, "NaN", null, [1], 2].map((value, n) => right(n, { odd: { "<b>": value } }));
      await writeRun(console_.service, projectId, { model: "mixed", rows: mixed });
      await writeRun(console_.service, projectId, { model: "goes-on", rows: [right(1, { judge: 1 })], finish: false });
      const visited = await console_.open(`${projectId}/calls`);
      const { page, problems } = visited;
      await page.getByText("calls", { exact: false }).first().waitFor();
      await pressTogether(page, "g", "e");
      const row = (model: string) => page.locator(".grid-body .grid-row").filter({ hasText: `${model}:` });
      await page.getByText("4 runs · 1 running").waitFor();
      await row("first").getByText("judge.correct 0.667 1 without").waitFor();
      await row("first").getByText("✓ completed").waitFor();
      await row("empty").getByText("no results").waitFor();
      await row("mixed").getByText("odd.<b> 1.5 3 without").waitFor();
      await row("goes-on").getByText("● 1 of 1").waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await page.getByRole("grid").focus();
      await page.keyboard.press("Delete");
      await page.getByRole("heading", { name: "Cancel the run?" }).waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await page.keyboard.press("Escape");
      expect(await row("goes-on").count()).toBe(1);
      await page.keyboard.press("Delete");
      await page.getByRole("button", { name: "Cancel and delete the run" }).click();
      await page.getByText("3 runs").waitFor();
      expect(await row("goes-on").count()).toBe(0);
      await page.getByRole("grid").focus();
      await page.keyboard.press("G");
      await page.reload();
      // The address says which run the cursor is on.
      await page.locator(".grid-body [aria-selected=true]").getByText("first:").waitFor();
      await page.getByRole("grid").focus();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Evaluation.evaluate", level: 1 }).waitFor();
      expect(problems).toEqual([]);
    },
  );

  test("a project without runs says how one is made", { timeout: 120_000 }, async () => {
    const visited = await console_.open(`${newProject()}/evaluations`);
    await visited.page.getByText("has no evaluation runs that your key may read").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    expect(visited.problems).toEqual([]);
  });
});
