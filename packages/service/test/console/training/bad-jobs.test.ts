import { describe, expect, test } from "vitest";
import { newProject } from "../../test-service.js";
import { createRl, eventsOf, newestCheckpoint, newModel } from "../../training/jobs.js";
import { group } from "../../training/trajectories.js";
import { chromiumPath } from "../browser.js";
import { axeInBothSchemes, openConsole } from "../open-console.js";

describe.skipIf(chromiumPath === undefined)("training that is long, broken or gone", { timeout: 240_000 }, () => {
  const console_ = openConsole(() => Promise.resolve({ HEDDLE_KEEP_ROLLOUTS: "0MB" }));

  async function trained(projectId: string) {
    const client = console_.service.training();
    const model = await newModel(client, projectId);
    const job = await createRl(client, {
      model_id: model.id,
      trajectory_groups: [group()],
      experimental_config: { learning_rate: 0.001 },
    });
    await eventsOf(console_.service, job.id);
    return { model, job, client };
  }

  test("a job of a hundred thousand steps, whose rollouts are not kept, is read like any other", async () => {
    const projectId = newProject();
    const { model } = await trained(projectId);
    const visited = await console_.open(`${projectId}/training`);
    const { page, problems } = visited;
    await page.getByText("1 job", { exact: true }).waitFor();
    const began = Date.now();
    const events = Array.from({ length: 100_000 }, (_, step) => {
      const data = { gradient_step: step, loss: 1 / (step + 1), num_trainable_tokens: 10, entropy: Math.sin(step) };
      return `data: ${JSON.stringify({ id: `e${step}`, type: "gradient_step", created_at: new Date(began + step * 100).toISOString(), data })}\n\n`;
    });
    await page.route("**/events/stream", async (route) => {
      await route.fulfill({ contentType: "text/event-stream", body: `${events.join("")}data: [DONE]\n\n` });
    });
    await page.goto(`${console_.url}/console/${projectId}/training/${model.id}?x=gradient`);
    const curves = page.getByRole("region", { name: "Curves" });
    await curves.getByText(/, 100,000 points/).waitFor();
    await page.getByText("Its rollouts are not kept").waitFor();
    await page.keyboard.press("m");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("T");
    const table = page.getByRole("grid", { name: "Measured numbers" });
    expect(await table.getAttribute("aria-rowcount")).toBe("100001");
    expect(await table.getByRole("row").count()).toBeLessThan(100);
    expect(await axeInBothSchemes(visited)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("of a hundred thousand logged rows peaks are kept, and what is no number has no point", async () => {
    const projectId = newProject();
    const { model } = await trained(projectId);
    const { trackingRuns } = console_.service.services.control;
    const run = { project_id: projectId, name: model.run_id, created_by: "ann" };
    await trackingRuns.upsert(run, {});
    const lines = Array.from({ length: 100_000 }, (_, step) =>
      step === 77_777
        ? `{"_step":${step},"loss":12345,"kl":NaN}`
        : `{"_step":${step},"loss":${step % 10 === 3 ? "NaN" : 1},"kl":Infinity,"grad":"NaN"}`,
    );
    await trackingRuns.writeHistory(run, 0, lines);
    const { page, problems } = await console_.open(`${projectId}/training/${model.id}?x=logged`);
    const curves = page.getByRole("region", { name: "Curves" });
    await curves.getByText("Of long series the least and the greatest number of each part.").waitFor();
    await curves.getByText("loss", { exact: true }).waitFor();
    // The peak is seen, though it is one of a hundred thousand.
    await curves.getByText("12300", { exact: false }).first().waitFor();
    expect(await curves.locator("figure").count()).toBe(1);
    expect(problems).toEqual([]);
  });

  test("a checkpoint that is deleted while it answers ends in its column, and is missing afterwards", async () => {
    const projectId = newProject("local");
    const { model, client } = await trained(projectId);
    const newest = await newestCheckpoint(console_.service, model.id);
    const name = `${model.inference_name}:step${newest?.step}`;
    const { page, problems } = await console_.open(`${projectId}/play?models=${encodeURIComponent(name)}`);
    await page.getByLabel("Message 1", { exact: true }).fill("Say the word loom.");
    await page.getByLabel("max_completion_tokens", { exact: true }).fill("400");
    await page.keyboard.press("Control+Enter");
    const column = page.getByRole("region", { name, exact: true });
    await column.locator(".play-text").first().waitFor();
    expect(await client.deleteModelCheckpoints({ model_id: model.id, steps: [newest?.step ?? 0] })).toMatchObject({
      deleted_count: 1,
    });
    await column.getByText(/✓ done|✗ failed/).waitFor();
    await page.keyboard.press("Control+Enter");
    await column.getByText("✗ failed").waitFor();
    await column.getByText(/step/).first().waitFor();
    expect(problems).toEqual([]);
  });
});
