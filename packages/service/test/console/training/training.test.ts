import type { Page, Request } from "playwright-core";
import { describe, expect, test } from "vitest";
import { newProject } from "../../test-service.js";
import { createRl, eventsOf, newModel } from "../../training/jobs.js";
import { choice, group, trajectory } from "../../training/trajectories.js";
import { chromiumPath, pressTogether } from "../browser.js";
import { axeInBothSchemes, openConsole } from "../open-console.js";

/** As the browser says when another tab is chosen. */
const see = async (page: Page, state: "hidden" | "visible") =>
  await page.evaluate(`Object.defineProperty(document, "visibilityState", { configurable: true, value: "${state}" });
    document.dispatchEvent(new Event("visibilitychange"))`);

describe.skipIf(chromiumPath === undefined)("training in the console", () => {
  const console_ = openConsole();

  test("jobs are found by state, and their model shows checkpoints with parity", { timeout: 180_000 }, async () => {
    const { service } = console_;
    const client = service.training();
    const projectId = newProject();
    const model = await newModel(client, projectId, "support-agent");
    const done = await createRl(client, {
      model_id: model.id,
      trajectory_groups: [group()],
      experimental_config: { learning_rate: 0.001, hostile_setting_: "<b>" },
    });
    await eventsOf(service, done.id);
    const failed = await createRl(client, {
      model_id: model.id,
      trajectory_groups: [
        {
          trajectories: [
            trajectory(1, { role: "assistant", content: "yes" }),
            trajectory(0, { role: "assistant", content: "<img src=x>" }),
          ],
        },
      ],
    });
    await eventsOf(service, failed.id);
    const visited = await console_.open(`${projectId}/training`);
    const { page, problems } = visited;
    const grid = page.getByRole("grid", { name: "Training jobs" });
    await grid.getByText("completed").waitFor();
    await grid.getByText("failed").waitFor();
    await page.getByText("2 jobs").waitFor();
    await page.getByRole("group", { name: "Table of base models" }).getByText("random:tiny").first().waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    expect(await page.getByRole("button", { name: "Cancel the job" }).isDisabled()).toBe(true);
    await page.getByLabel("State").selectOption("COMPLETED");
    await page.getByText("1 job", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("1 job", { exact: true }).waitFor();
    await page.getByLabel("State").selectOption("FAILED");
    await page.getByRole("grid").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "support-agent", level: 1 }).waitFor();
    const { error_message } = await client.getTrainingJob({ training_job_id: failed.id });
    await page.getByText("✗ It failed").waitFor();
    await page.getByText(error_message ?? "none").waitFor();
    await page.getByText("≤ 0.001 nats").waitFor();
    await page.getByText("the base model, unchanged").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("Escape");
    await grid.waitFor();
    // It is deleted while it is read, and gone when it is asked for again.
    await page.getByRole("grid").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "support-agent", level: 1 }).waitFor();
    await page.getByText("✗ It failed").waitFor();
    await client.deleteModel({ model_id: model.id });
    await page.getByRole("heading", { name: "The model was deleted" }).waitFor();
    expect(await page.getByRole("region", { name: "Curves" }).count()).toBe(0);
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.reload();
    await page.getByText("it may have been deleted").waitFor();
    expect(problems).toEqual([]);
  });

  test("what was measured is read under one cursor, and in numbers", { timeout: 180_000 }, async () => {
    const { service } = console_;
    const client = service.training();
    const projectId = newProject();
    const model = await newModel(client, projectId, "measured");
    for (const rate of [0.001, 0.002]) {
      const job = await createRl(client, {
        model_id: model.id,
        trajectory_groups: [group(), group("why?")],
        experimental_config: { learning_rate: rate, packed_sequence_length: 30 },
      });
      await eventsOf(service, job.id);
    }
    const visited = await console_.open(`${projectId}/training/${model.id}`);
    const { page, problems } = visited;
    const curves = page.getByRole("region", { name: "Curves" });
    await curves.getByText("train/reward", { exact: true }).waitFor();
    await curves.getByText("checkpoint step 2, 2 points").waitFor();
    await page.keyboard.press("m");
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("ArrowLeft");
    await curves.getByText("checkpoint step 1, 2 points").waitFor();
    await page.keyboard.press("Enter");
    await page.locator("tr[aria-current=step] td").first().getByText("1", { exact: true }).waitFor();
    await page.keyboard.press("X");
    await curves.getByText(/gradient step of the job \d+, \d+ points/).waitFor();
    await page.reload();
    await curves.getByText("loss", { exact: true }).waitFor();
    await page.keyboard.press("T");
    const table = page.getByRole("grid", { name: "Measured numbers" });
    await table.getByRole("columnheader", { name: "loss", exact: true }).waitFor();
    expect(await table.locator(".grid-body .cell").nth(1).innerText()).toMatch(/\d/);
    expect(await axeInBothSchemes(visited)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("a job is cancelled once that is confirmed, by one who may write", { timeout: 180_000 }, async () => {
    const { service } = console_;
    const client = service.training();
    const projectId = newProject();
    const model = await newModel(client, projectId, "long");
    const answers = Array.from({ length: 6000 }, (_, index) => trajectory(index % 2, choice(`answer ${index}`)));
    const job = await createRl(client, {
      model_id: model.id,
      trajectory_groups: [{ trajectories: answers }],
      experimental_config: { packed_sequence_length: 64 },
    });
    const { page, problems } = await console_.open(`${projectId}/training/${model.id}?x=gradient`);
    const asked: (string | undefined)[] = [];
    const isTail = (request: Request) => request.url().endsWith(`/${job.id}/events/stream`);
    page.on("request", (request) => void (isTail(request) && asked.push(request.headers()["last-event-id"])));
    await page.getByText(/gradient step of the job \d+, \d+ point/).waitFor();
    // A page that is not seen follows nothing, and goes on where it was.
    const [cut] = await Promise.all([page.waitForEvent("requestfailed", isTail), see(page, "hidden")]);
    expect(cut.failure()?.errorText).toContain("ABORTED");
    const before = asked.length;
    await see(page, "visible");
    await expect.poll(() => asked.slice(before)).toEqual([expect.any(String)]);
    await page.getByRole("button", { name: "Cancel the job" }).waitFor();
    await page.keyboard.press("Delete");
    const dialog = page.getByRole("dialog", { name: "Cancel the job" });
    await dialog.getByRole("button", { name: "Let it run" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("Delete");
    await dialog.getByRole("button", { name: "Cancel the job" }).click();
    await page.getByText("It was cancelled").waitFor();
    expect(await client.getTrainingJob({ training_job_id: job.id })).toMatchObject({ status: "CANCELLED" });
    expect(problems).toEqual([]);
  });

  test("a project that has trained nothing is told what a job is", { timeout: 120_000 }, async () => {
    const projectId = newProject();
    const visited = await console_.open(`${projectId}/calls`);
    await visited.page.getByRole("link", { name: "Training" }).waitFor();
    await pressTogether(visited.page, "g", "r");
    await visited.page.getByText("has trained nothing yet").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    expect(visited.problems).toEqual([]);
  });
});
