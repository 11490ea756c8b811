import { describe, expect, test } from "vitest";
import { newProject } from "../../test-service.js";
import { createRl, eventsOf, newModel } from "../../training/jobs.js";
import { choice, trajectory } from "../../training/trajectories.js";
import { chromiumPath } from "../browser.js";
import { axeInBothSchemes, openConsole } from "../open-console.js";

describe.skipIf(chromiumPath === undefined)("rollouts in the console", () => {
  const console_ = openConsole();

  async function train(projectId: string, trajectories: object[][]) {
    const client = console_.service.training();
    const model = await newModel(client, projectId);
    const job = await createRl(client, {
      model_id: model.id,
      trajectory_groups: trajectories.map((group) => ({ trajectories: group })),
    });
    await eventsOf(console_.service, job.id);
    return { model, job };
  }

  test("the best rollout is found, with its tokens and what made it be trained", { timeout: 180_000 }, async () => {
    const projectId = newProject();
    const hostile = "<script>window.planted = true</script>\u202E";
    const called = { ...trajectory(0.8, choice("perhaps")), metadata: { call_id: "call-1" } };
    const { model } = await train(projectId, [
      [trajectory(1, choice("yes"), hostile), trajectory(0, choice("no"), hostile)],
      [called, trajectory(0.2, choice("never"))],
      [trajectory(0.5, choice("same")), trajectory(0.5, choice("same too"))],
    ]);
    const visited = await console_.open(`${projectId}/training/${model.id}`);
    const { page, problems } = visited;
    const rollouts = page.getByRole("region", { name: "Rollouts" });
    await rollouts.getByText("3 groups, 6 rollouts").waitFor();
    await rollouts.getByText("1 group with equal rewards: not trained").waitFor();
    const opened = rollouts.getByRole("article");
    await opened.getByText("<script>window.planted = true</script>⟨202E⟩").waitFor();
    await opened.getByText("group mean 0.5, 0 to 1").waitFor();
    expect(await opened.locator(".token").allInnerTexts()).toEqual(["#121", "#101", "#115", "#1017"]);
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("v");
    expect(await opened.locator(".token.is-reinforced").count()).toBe(4);
    await page.keyboard.press("j");
    await opened.getByText("Group 0, rollout 1").waitFor();
    await opened.locator(".token.is-weakened").first().waitFor();
    await page.keyboard.press("o");
    expect(await rollouts.getByLabel("Order of the rollouts").inputValue()).toBe("reward");
    await page.goto(`${console_.url}/console/${projectId}/training/${model.id}?rollout=1.0`);
    await opened.getByText("perhaps").waitFor();
    await opened.getByRole("link", { name: "trace call-1" }).waitFor();
    await page.goto(`${console_.url}/console/${projectId}/training/${model.id}?rollout=2.1`);
    await opened.getByText("Nothing of it is trained: no advantage: the mean of its group.").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    expect(await page.evaluate("window.planted")).toBeUndefined();
    expect(problems).toEqual([]);
  });

  test("of fifty thousand tokens those in the window are rendered", { timeout: 180_000 }, async () => {
    const projectId = newProject();
    const long = choice(
      "long",
      Array.from({ length: 50_000 }, (_, index) => index % 200),
    );
    const { model } = await train(projectId, [[trajectory(1, long), trajectory(0, choice("short"))]]);
    const { page, problems } = await console_.open(`${projectId}/training/${model.id}?rollout=0.0`);
    const opened = page.getByRole("article", { name: "Rollout 0.0" });
    await opened.getByText("assistant, 50,001 tokens").waitFor();
    await opened.getByRole("group", { name: "Tokens" }).press("End");
    await opened.getByText("#1017").waitFor();
    expect(await opened.locator(".token").count()).toBeLessThan(1000);
    expect(problems).toEqual([]);
  });
});
