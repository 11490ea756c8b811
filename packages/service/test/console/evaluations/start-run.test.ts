import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startChatServer } from "../../chat-server.js";
import { newProject } from "../../test-service.js";
import { writeProviders } from "../../upstream.js";
import { chromiumPath } from "../browser.js";
import { axeInBothSchemes, openConsole } from "../open-console.js";

const hostile = `<img src=x onerror="window.planted = true">\u202E`;

describe.skipIf(chromiumPath === undefined)("an evaluation run that is begun in the console", () => {
  const directory = mkdtempSync(join(tmpdir(), "heddle-start-run-"));
  let chat: Awaited<ReturnType<typeof startChatServer>>;
  const console_ = openConsole(async () => {
    chat = await startChatServer();
    const acme = { baseUrl: `${chat.url}/v1`, allowPrivate: true, kinds: ["chat-completions"], models: ["loom*"] };
    return { HEDDLE_PROVIDERS: writeProviders(directory, { acme }) };
  });
  afterAll(async () => {
    await chat?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const dataset = async (projectId: string, rows: Record<string, unknown>[]) => {
    const [entity = "", project = ""] = projectId.split("/");
    await console_.service.tracing().datasetCreate({ entity, project, name: "questions", rows });
  };

  test(
    "goes from a dataset to the results by the dialog alone, and a second one is compared with it",
    {
      timeout: 240_000,
    },
    async () => {
      const projectId = newProject();
      await dataset(projectId, [
        { question: "say warp", [hostile]: "x", answer: "warp" },
        { question: "say weft", [hostile]: "x", answer: "shuttle" },
        { question: "garbage: now", [hostile]: "x", answer: "reed" },
      ]);
      const visited = await console_.open(`${projectId}/evaluations`);
      const { page, problems } = visited;
      await page.getByText("has no evaluation runs").waitFor();
      await page.keyboard.press("n");
      const dialog = page.getByRole("dialog");
      await dialog.getByText("Columns: question").waitFor();
      expect(await dialog.getByRole("button", { name: "Run it" }).isDisabled()).toBe(true);
      await dialog.getByLabel("Name", { exact: true }).fill("Short answers!");
      await dialog.getByLabel("Model of a provider").fill("nobody/loom");
      expect(await dialog.getByLabel("What it is asked").inputValue()).toBe("{question}");
      await dialog.getByLabel("Whether the output is the same as the column").selectOption("answer");
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await dialog.getByRole("button", { name: "Run it" }).click();
      // Nothing begins with a model that no provider has; the dialog keeps what was entered.
      await dialog.getByText("The run was not begun.").waitFor();
      await dialog.getByLabel("Model of a provider").fill("acme/loom");
      await dialog.getByRole("button", { name: "Run it" }).click();
      await dialog.getByText("✓ The run has ended.").waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await dialog.getByRole("button", { name: "Show the results" }).click();
      await page.getByRole("status").getByText("3 rows", { exact: true }).waitFor();
      // The worst row is first; one without an answer has no score, and comes last.
      const rows = page.locator(".grid-body .grid-row");
      await rows.first().getByText("say weft").waitFor();
      await rows.first().getByText("✗").waitFor();
      await rows.last().getByText("no score").waitFor();
      await page.getByRole("region", { name: "Scores" }).getByText("1 row without a score").waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await page.getByRole("grid").focus();
      await page.keyboard.press("Escape");
      await page.getByText("1 run", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Run an evaluation" }).click();
      // What was stored before is chosen.
      await dialog.getByText("Columns: question").waitFor();
      expect(
        await dialog
          .getByLabel(/^Model/)
          .first()
          .locator("option:checked")
          .innerText(),
      ).toBe("Short-answers-");
      await dialog.getByLabel(/^exact-answer/).check();
      await dialog.getByRole("button", { name: "Run it" }).click();
      await dialog.getByRole("button", { name: "Show the results" }).click();
      // Of the same evaluation, so the run before is the base.
      await page.getByRole("region", { name: "Scores" }).getByText("base").waitFor();
      await page.getByRole("status").getByText("3 rows", { exact: true }).waitFor();
      expect(await page.evaluate("window.planted")).toBeUndefined();
      expect(problems.filter((problem) => !/status of 4/.test(problem))).toEqual([]);
    },
  );

  test("shows how far it is, goes on when the dialog is closed, and is cancelled", { timeout: 240_000 }, async () => {
    const projectId = newProject();
    await dataset(projectId, [
      { question: "say warp", answer: "warp" },
      ...Array.from({ length: 40 }, (_, n) => ({ question: `wait: ${n}`, answer: "no" })),
    ]);
    const open = chat.closeGate();
    const visited = await console_.open(`${projectId}/evaluations?dialog=start`);
    const { page } = visited;
    const dialog = page.getByRole("dialog");
    const begin = async () => {
      await dialog.getByLabel("Whether the output is the same as the column").selectOption("answer");
      await dialog.getByRole("button", { name: "Run it" }).click();
    };
    await dialog.getByText("Columns: question").waitFor();
    await dialog.getByLabel("Name", { exact: true }).fill("slow");
    await dialog.getByLabel("Model of a provider").fill("acme/loom");
    await begin();
    await dialog.getByText("1 of 41 predictions are scored.").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.locator(".grid-body .grid-row").getByText("● 1 of 41").waitFor();
    await page.keyboard.press("n");
    // It may have to wait for the first one.
    await begin();
    await dialog.getByText(/is waiting to begin|of 41 predictions/).waitFor();
    await dialog.getByRole("button", { name: "Cancel the run" }).click();
    await dialog.getByText("The run was cancelled").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("1 run · 1 running").waitFor();
    open();
    await page.locator(".grid-body .grid-row").getByText("✓ completed").waitFor();
    expect(visited.problems).toEqual([]);
  });

  test("needs a key that may write", { timeout: 120_000 }, async () => {
    const projectId = newProject("local");
    await dataset(projectId, [{ question: "say warp", answer: "warp" }]);
    const key = await console_.service.key({ entity: "local", role: "read" });
    const visited = await console_.open(`${projectId}/evaluations?dialog=start`, key);
    const dialog = visited.page.getByRole("dialog");
    await dialog.getByText("Your key may only read.", { exact: false }).waitFor();
    await dialog.getByLabel("Whether the output is the same as the column").selectOption("answer");
    expect(await dialog.getByRole("button", { name: "Run it" }).isDisabled()).toBe(true);
    expect(await axeInBothSchemes(visited)).toEqual([]);
    expect(visited.problems).toEqual([]);
  });
});
