import { describe, expect, test, vi } from "vitest";
import { newProject } from "../../test-service.js";
import { eventsOf, newModel } from "../../training/jobs.js";
import { chromiumPath } from "../browser.js";
import { axeInBothSchemes, openConsole } from "../open-console.js";

describe.skipIf(chromiumPath === undefined)("training on calls in the console", () => {
  const console_ = openConsole();

  /** Completions that the service has recorded, as many of each question as asked for; all but the last one are rated. */
  async function sampled(projectId: string, questions: Record<string, number>) {
    const client = console_.service.training();
    const tracing = console_.service.tracing();
    const model = await newModel(client, projectId);
    for (const [content, count] of Object.entries(questions))
      for (let seed = 0; seed < count; seed++) {
        const messages = [{ role: "user" as const, content }];
        await client.createChatCompletion({ model: model.inference_name, messages, max_tokens: 4, seed });
      }
    const total = Object.values(questions).reduce((sum, count) => sum + count, 0);
    const ids = await vi.waitFor(async () => {
      const { calls } = await tracing.callsQuery({
        project_id: projectId,
        sort_by: [{ field: "started_at", direction: "asc" }],
      });
      expect(calls).toHaveLength(total);
      return calls.map(({ id }) => id);
    }, 20_000);
    for (const [at, id] of ids.slice(0, -1).entries())
      await tracing.feedbackCreate({
        project_id: projectId,
        weave_ref: `weave:///${projectId}/call/${id}`,
        feedback_type: "quality",
        payload: { value: at % 2 === 0 },
      });
    return { model, ids };
  }

  test(
    "what a job would be trained on is seen before it starts; calls, job and checkpoints lead to each other",
    { timeout: 180_000 },
    async () => {
      const projectId = newProject();
      const hostile = "<b>Why?</b>\u202E";
      const { model, ids } = await sampled(projectId, { "Is it open?": 3, [hostile]: 3 });
      const visited = await console_.open(`${projectId}/calls`);
      const { page, problems } = visited;
      await page.getByText("6 calls", { exact: true }).waitFor();
      await page.keyboard.press("*");
      await page.keyboard.press("t");
      const dialog = page.getByRole("dialog", { name: "Act on calls" });
      const preview = dialog.getByRole("region", { name: "What it would be trained on" });
      await preview.getByText(/^5 calls in 2 groups, \d+ trained tokens\.$/).waitFor();
      await preview.getByText("1 call left out: have no number as reward").waitFor();
      expect(await preview.getByText("<b>Why?</b>⟨202E⟩").count()).toBe(1);
      await preview.getByRole("button", { name: /Is it open/ }).click();
      const rows = preview.getByRole("table").getByRole("row");
      expect(await rows.count()).toBe(4);
      expect(await axeInBothSchemes(visited)).toEqual([]);
      // As examples, only those that were rated well.
      await dialog.getByLabel("Train on").selectOption({ label: "calls as examples" });
      await preview.getByText(/^6 calls, /).waitFor();
      await dialog.getByLabel(/^Reward/).selectOption({ label: "quality · value" });
      await dialog.getByLabel("Least reward").fill("1");
      await preview.getByText(/^3 calls, /).waitFor();
      await preview.getByText("2 calls left out: have a smaller reward").waitFor();
      // As preferences: pairs of each question, or every answer as a good or a bad one.
      await dialog.getByLabel("Train on").selectOption({ label: "answers that are good or bad" });
      await preview.getByText(/^5 calls, /).waitFor();
      await dialog.getByLabel("Train on").selectOption({ label: "pairs of a better and a worse answer" });
      await dialog.getByLabel("Least difference").fill("2");
      await dialog.getByText("left out: have no answer of their group to be compared with").waitFor();
      await dialog.getByLabel("Least difference").fill("one");
      await dialog.getByText("This is no number.").waitFor();
      await dialog.getByLabel("Least difference").fill("");
      await preview.getByText(/^4 calls in 2 groups, /).waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await dialog.getByLabel("Train on").selectOption({ label: "calls by their rewards" });
      await dialog.getByRole("button", { name: "Train on 5 calls" }).click();
      await dialog.getByRole("link", { name: "Watch it" }).click();

      // From the job to its calls, and from one of these back.
      const jobId = new URL(page.url()).searchParams.get("job") ?? "";
      await eventsOf(console_.service, jobId);
      await page.getByRole("region", { name: "Job" }).getByRole("link", { name: "5 calls" }).click();
      await page.getByText("5 calls", { exact: true }).waitFor();
      await page.goto(`${console_.url}/console/${projectId}/calls/${ids[0]}`);
      const lineage = page.getByRole("region", { name: "Lineage" });
      await lineage.getByText("with the reward 1").waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await lineage.getByRole("link", { name: `an RL job of ${model.name}` }).click();
      expect(new URL(page.url()).searchParams.get("job")).toBe(jobId);
      // From a checkpoint to what it answered, and back.
      const untrained = page.getByRole("row", { name: /the base model, unchanged/ });
      await untrained.getByRole("link", { name: "its calls" }).click();
      await page.getByText("6 calls", { exact: true }).waitFor();
      await page.goto(`${console_.url}/console/${projectId}/calls/${ids[5]}`);
      await lineage.getByRole("link", { name: "step 0 of a model" }).click();
      await page.getByRole("heading", { name: model.name, level: 1 }).waitFor();

      // All answers to one question next to each other.
      await page.getByRole("region", { name: "Rollouts" }).getByText("2 groups, 5 rollouts").waitFor();
      await page.keyboard.press("b");
      const columns = page.getByRole("group", { name: "The group side by side" }).getByRole("article");
      await expect.poll(async () => await columns.count()).toBe(3);
      await page.keyboard.press("j");
      await expect.poll(async () => await columns.nth(1).getAttribute("aria-current")).toBe("true");
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await page.reload();
      await expect.poll(async () => await columns.count()).toBe(3);

      // What a client logged to the run of the model is a curve, too.
      await page.goto(`${console_.url}/console/${projectId}/training/${model.id}?x=logged`);
      const curves = page.getByRole("region", { name: "Curves" });
      await curves.getByText("No client has logged numbers").waitFor();
      const { trackingRuns } = console_.service.services.control;
      const run = { project_id: projectId, name: model.run_id, created_by: "ann" };
      await trackingRuns.upsert(run, {});
      await trackingRuns.writeHistory(run, 0, [
        '{"tool/errors":0.5,"_step":3}',
        `{"tool/errors":0.25,${JSON.stringify(hostile)}:1,"_step":9}`,
      ]);
      await page.reload();
      await curves.getByText("step that clients logged 9, 2 points").waitFor();
      await curves.getByText("<b>Why?</b>⟨202E⟩").waitFor();
      await page.keyboard.press("T");
      await curves.getByRole("row", { name: /^3 .*0\.5/ }).waitFor();

      // The pairs that were previewed are what a job of preferences is made of.
      await page.goto(`${console_.url}/console/${projectId}/calls?chosen=*&act=train`);
      await dialog.getByLabel("Train on").selectOption({ label: "pairs of a better and a worse answer" });
      await dialog.getByRole("button", { name: "Train on 4 calls" }).click();
      await dialog.getByRole("link", { name: "Watch it" }).click();
      await page.getByRole("region", { name: "Job" }).getByText("preference job").waitFor();

      // The model is deleted: its calls stay, and what they lead to says so.
      await console_.service.training().deleteModel({ model_id: model.id });
      await page.goto(`${console_.url}/console/${projectId}/calls/${ids[0]}`);
      await lineage.getByText("with the reward 1").first().waitFor();
      await lineage.getByRole("link", { name: `an RL job of ${model.name}` }).click();
      await page.getByText("it may have been deleted, with its jobs and checkpoints").waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      const models = encodeURIComponent(model.inference_name);
      await page.goto(`${console_.url}/console/${projectId}/play?call=${ids[0]}&models=${models}`);
      const column = page.getByRole("region", { name: model.inference_name, exact: true });
      await column.getByText("The service does not list this model.").waitFor();
      await page.keyboard.press("Control+Enter");
      await column.getByText("It failed.").waitFor();
      await column.getByText(model.name).first().waitFor();
      await page.getByRole("region", { name: "Recorded" }).getByRole("link", { name: "trace" }).waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await page.goto(`${console_.url}/console/${projectId}/training`);
      await page.getByText("has trained nothing yet").waitFor();
      expect(problems).toEqual([]);
    },
  );

  test("without models or rewards it says so; a key that may only read sees what would be, and starts nothing", async () => {
    const projectId = newProject();
    const [entity = ""] = projectId.split("/");
    const { ids } = await sampled(projectId, { "Is it open?": 2 });
    const key = await console_.service.key({ entity, role: "read" });
    const { page, problems } = await console_.open(`${projectId}/calls?chosen=${ids.join(",")}&act=train`, key);
    const dialog = page.getByRole("dialog", { name: "Act on calls" });
    await dialog.getByText(/^1 call in 1 group, /).waitFor();
    await dialog.getByText("Your key may only read.").waitFor();
    expect(await dialog.getByRole("button", { name: /^Train on/ }).isDisabled()).toBe(true);
    await page.goto(`${console_.url}/console/${projectId}/calls?text=open&chosen=*&act=train`);
    await dialog.getByText("A search for words does not choose calls for training.").waitFor();
    await page.goto(`${console_.url}/console/${entity}/${crypto.randomUUID()}/calls?chosen=x&act=train`);
    await dialog.getByText("The project has no models.").waitFor();
    expect(problems).toEqual([]);
  });
});
