import { describe, expect, test } from "vitest";
import { newProject } from "../test-service.js";
import { chromiumPath } from "./browser.js";
import { axeInBothSchemes, openConsole } from "./open-console.js";

describe.skipIf(chromiumPath === undefined)("a shared trace in the console", () => {
  const console_ = openConsole();

  test("is seen without a log-in, without what is hidden, and until it is revoked", { timeout: 120_000 }, async () => {
    const projectId = newProject();
    const tracing = console_.service.tracing();
    const common = { project_id: projectId, trace_id: "t<1>&#", attributes: {}, started_at: new Date().toISOString() };
    const end = { project_id: projectId, ended_at: new Date().toISOString(), summary: {} };
    await tracing.callStart({
      start: { ...common, id: "root", op_name: "answer", inputs: { question: "Where?", phone: "555-0100" } },
    });
    await tracing.callStart({
      start: { ...common, id: "tool", parent_id: "root", op_name: "orders.get", inputs: { id: 8841 } },
    });
    await tracing.callStart({
      start: { ...common, id: "other", trace_id: "other", op_name: "other", inputs: {} },
    });
    await tracing.callEnd({ end: { ...end, id: "tool", exception: "no response" } });
    await tracing.callEnd({ end: { ...end, id: "root", output: "There." } });
    const { url, share } = await tracing.shareCreate({
      project_id: projectId,
      trace_id: "t<1>&#",
      redact: ["inputs.phone"],
    });
    const link = `${console_.url}/console/share${new URL(url).hash}`;
    const visited = await console_.look(link);
    const { page, problems } = visited;
    await page.getByRole("group", { name: "inputs" }).getByText("Where?").waitFor();
    await page.getByRole("group", { name: "inputs" }).getByText("[redacted]").waitFor();
    expect(await page.content()).not.toContain("555-0100");
    // Nobody has said anything, and nothing can be said here.
    expect(await page.getByRole("region", { name: "Feedback" }).count()).toBe(0);
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("n");
    await page.getByText("✗ exception").waitFor();
    await page.reload();
    await page.getByText("✗ exception").waitFor();
    await page.getByRole("treegrid").getByText("orders.get").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Next error").waitFor();
    await page.keyboard.press("Escape");
    expect(await page.getByRole("alert").count()).toBe(0);
    // It is of no other trace.
    const other = await console_.look(link.replace(encodeURIComponent("t<1>&#"), "other"));
    await other.page.getByText(/cannot be read|no calls any more/).waitFor();
    const cut = await console_.look(link.slice(0, link.indexOf("&token")));
    await cut.page.getByText("A part of the link is missing").waitFor();
    expect(await axeInBothSchemes(cut)).toEqual([]);
    await tracing.shareRevoke({ share_id: share.id, project_id: projectId });
    await page.reload();
    await page.getByText("The link is not valid").waitFor();
    expect([...problems, ...other.problems, ...cut.problems]).toEqual([]);
  });

  test(
    "a link is made on the page of a call, opens for somebody else, and is revoked there",
    { timeout: 120_000 },
    async () => {
      const projectId = newProject();
      const tracing = console_.service.tracing();
      const call = { project_id: projectId, id: "c", trace_id: "t", op_name: "answer", attributes: {} };
      await tracing.callStart({
        start: { ...call, started_at: new Date().toISOString(), inputs: { question: "Where?", phone: "555-0100" } },
      });
      const visited = await console_.open(`${projectId}/calls/c`);
      const { page, problems } = visited;
      await page.getByRole("button", { name: "Share" }).waitFor();
      await page.keyboard.press("S");
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Valid for").selectOption("an hour");
      await dialog.getByRole("textbox").fill("inputs.phone\nnothing like it");
      await dialog.getByRole("button", { name: "Make a link" }).click();
      await dialog.getByText("Nothing was changed").waitFor();
      await dialog.getByRole("textbox").fill("inputs.phone");
      await dialog.getByRole("button", { name: "Make a link" }).click();
      const link = (await dialog.getByRole("link", { name: "The link" }).getAttribute("href")) ?? "";
      await dialog.getByText("without inputs.phone").waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      const other = await console_.look(`${console_.url}/console/share${new URL(link).hash}`);
      await other.page.getByRole("group", { name: "inputs" }).getByText("[redacted]").waitFor();
      // What is shared grows as it does for those who have a key.
      await tracing.callStart({
        start: { ...call, id: "d", parent_id: "c", op_name: "later", started_at: new Date().toISOString(), inputs: {} },
      });
      await other.page.getByRole("treegrid").getByText("later").waitFor();
      await dialog.getByRole("button", { name: "Revoke" }).click();
      await dialog.getByText("without inputs.phone").waitFor({ state: "detached" });
      await other.page.reload();
      await other.page.getByText("The link is not valid").waitFor();
      expect([...problems, ...other.problems]).toEqual([]);
    },
  );
});
