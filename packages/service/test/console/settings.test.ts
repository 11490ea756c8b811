import { describe, expect, test } from "vitest";
import { newProject, ownerKey } from "../test-service.js";
import { chromiumPath } from "./browser.js";
import { axeInBothSchemes, openConsole } from "./open-console.js";

describe.skipIf(chromiumPath === undefined)("the settings in the console", () => {
  const console_ = openConsole();

  /** Ended calls of a model, one each at a time. */
  async function write(projectId: string, calls: { model: string; tokens: number; ago: number }[]): Promise<void> {
    await console_.service.tracing().callStartBatch({
      batch: calls.flatMap(({ model, tokens, ago }, index) => {
        const common = { project_id: projectId, id: `call-${index}` };
        const at = new Date(Date.now() - ago).toISOString();
        const usage = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens, requests: 1 };
        const start = {
          ...common,
          trace_id: `t-${index}`,
          op_name: "chat",
          started_at: at,
          attributes: {},
          inputs: {},
        };
        const end = { ...common, ended_at: at, summary: { usage: { [model]: usage } } };
        return [
          { mode: "start" as const, req: { start } },
          { mode: "end" as const, req: { end } },
        ];
      }),
    });
  }
  const dayMs = 86_400_000;

  test(
    "usage and costs by model and day, and a retention that says what it deletes",
    { timeout: 120_000 },
    async () => {
      const projectId = newProject();
      await console_.service.tracing().costCreate({
        project_id: projectId,
        costs: {
          costly: { prompt_token_cost: 0.5, completion_token_cost: 0.5, effective_date: "2020-01-01T00:00:00Z" },
        },
      });
      await write(projectId, [
        { model: "costly", tokens: 100, ago: 0 },
        { model: "unknown<b>", tokens: 3000, ago: 10 * dayMs },
        { model: "costly", tokens: 20, ago: 40 * dayMs },
      ]);
      const visited = await console_.open(`${projectId}/settings`);
      const { page, problems } = visited;
      const byModel = page.getByRole("region", { name: "By model" });
      await byModel.getByText("unknown<b>").waitFor();
      expect(await byModel.getByRole("row").nth(1).innerText()).toMatch(/^costly\s+1\s+1\s+100\s+0\s+100\s+50\.0$/);
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await page.keyboard.press("d");
      await byModel.getByText("unknown<b>").waitFor({ state: "detached" });
      await page.keyboard.press("d");
      await byModel.getByRole("row", { name: /^costly 2 / }).waitFor();
      await page.keyboard.press("o");
      await page.getByText("3,120 tokens").waitFor();
      await page.reload();
      await page.getByText("3,120 tokens").waitFor();

      await page.getByRole("link", { name: "Retention" }).click();
      await page.getByText("Calls are kept until they are deleted.").waitFor();
      await page.getByRole("row", { name: /^calls 3 / }).waitFor();
      await page.getByRole("spinbutton").fill("30");
      await page.getByRole("button", { name: "Change" }).click();
      await page.getByText("1 call older than 30 days will be deleted now, for good.").waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await page.getByRole("button", { name: "Delete 1 call" }).click();
      await page.getByText("Calls are kept for 30 days from their start").waitFor();
      expect(await console_.service.tracing().projectTtlSettingsRead({ project_id: projectId })).toEqual({
        retention_days: 30,
      });
      expect(problems).toEqual([]);
    },
  );

  test("a key is made, shown once, works, is a member's, and is revoked", { timeout: 120_000 }, async () => {
    const projectId = newProject("keys");
    const admin = await console_.service.key({ entity: "keys", role: "admin" });
    const visited = await console_.open(`settings`, admin);
    const { page, problems } = visited;
    await page.getByText("1 valid key").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("n");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("User").fill("ann");
    await dialog.getByLabel("What it is for").fill("<i>batch</i>");
    await dialog.getByLabel("May").selectOption("read");
    await dialog.getByLabel("Your own key").fill(ownerKey);
    await dialog.getByRole("button", { name: "Make a key" }).click();
    await dialog.getByText("Nothing was changed").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await dialog.getByLabel("Your own key").fill(admin);
    await dialog.getByRole("button", { name: "Make a key" }).click();
    const secret = await dialog.locator("code").innerText();
    expect((await console_.service.tracing(secret).meRead()).role).toBe("read");
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByText("<i>batch</i>").waitFor();
    expect(await page.content()).not.toContain(secret);

    await page.goto(`${console_.url}/console/${projectId}/settings/members`);
    await page.getByRole("row", { name: /^ann read all projects of the entity/ }).waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.getByRole("link", { name: "Make or revoke keys" }).click();
    await page.getByRole("row", { name: /ann/ }).getByRole("button", { name: "Revoke" }).click();
    await dialog.getByLabel("Your own key").fill(admin);
    await dialog.getByRole("button", { name: "Revoke the key" }).click();
    await page.getByRole("row", { name: /ann.*revoked/ }).waitFor();
    await expect(console_.service.tracing(secret).meRead()).rejects.toMatchObject({ status: 401 });
    expect(problems).toEqual([]);
  });

  test(
    "the system check names each part; a key that may read only is told who may more",
    { timeout: 120_000 },
    async () => {
      const projectId = newProject("readers");
      const key = await console_.service.key({ entity: "readers", role: "read" });
      const visited = await console_.open("settings/system", key);
      const { page, problems } = visited;
      await page.getByRole("row", { name: /^Traces .*✓ works/ }).waitFor();
      await page.getByText(/^Heddle \d/).waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await page.keyboard.press("h");
      await page.getByText("Keys are made and revoked with one that has the role").waitFor();
      await page.goto(`${console_.url}/console/${projectId}/settings/members`);
      await page.getByText("Who else may is shown to keys with the role").waitFor();
      await page.keyboard.press("l");
      await page.getByText("keys with the role admin change it").waitFor();
      expect(problems).toEqual([]);
    },
  );
});
