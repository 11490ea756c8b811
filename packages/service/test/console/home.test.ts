import { describe, expect, test } from "vitest";
import { chromiumPath } from "./browser.js";
import { axeInBothSchemes, openConsole } from "./open-console.js";

describe.skipIf(chromiumPath === undefined)("the first page of the console", () => {
  const console_ = openConsole();

  test("has what failed and what it cost in the last day, and what runs now", { timeout: 120_000 }, async () => {
    const [busy, quiet] = ["team/busy", "team/quiet"];
    const key = await console_.service.key({ entity: "team", role: "write" });
    const tracing = console_.service.tracing();
    const hourMs = 3_600_000;
    await tracing.costCreate({
      project_id: busy,
      costs: { m: { prompt_token_cost: 0.5, completion_token_cost: 0.5, effective_date: "2020-01-01T00:00:00Z" } },
    });
    const write = async (projectId: string, id: string, ago: number, end?: { exception?: string; tokens?: number }) => {
      const common = { project_id: projectId, id };
      const at = new Date(Date.now() - ago).toISOString();
      await tracing.callStart({
        start: { ...common, trace_id: `t-${id}`, op_name: `op-${id}`, started_at: at, attributes: {}, inputs: {} },
      });
      if (end === undefined) return;
      const { exception, tokens = 0 } = end;
      const usage = { m: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens, requests: 1 } };
      await tracing.callEnd({
        end: { ...common, ended_at: at, summary: { usage }, ...(exception !== undefined && { exception }) },
      });
    };
    await write(busy, "failed", hourMs, { exception: "no", tokens: 7 });
    await write(busy, "old", 30 * hourMs, { exception: "no", tokens: 1000 });
    await write(quiet, "<b>runs</b>", 0);
    const visited = await console_.open("", key);
    const { page, problems } = visited;
    await page.getByRole("row", { name: /^team\/busy 2 ✗ 1 3\.50 / }).waitFor();
    const running = page.getByRole("region", { name: "Running now" });
    await running.getByText("op-<b>runs</b>").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.getByLabel("Filter projects").fill("busy");
    await page.reload();
    await page.getByText("1 of 2").waitFor();
    await page.getByRole("link", { name: "✗ 1" }).click();
    await page.getByRole("grid", { name: "Calls" }).getByText("op-failed").waitFor();
    await page.getByText("1 call", { exact: true }).waitFor();
    await page.goBack();
    await running.getByRole("link").click();
    await page.getByRole("heading", { name: "op-<b>runs</b>", level: 1 }).waitFor();
    expect(problems).toEqual([]);
  });
});
