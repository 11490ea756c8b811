import { createTracingClient } from "@heddle/client/tracing";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { newProject, ownerKey } from "../test-service.js";
import { chromiumPath } from "./browser.js";
import { axeInBothSchemes, openConsole } from "./open-console.js";
import { writeCalls } from "./write-calls.js";

describe.skipIf(chromiumPath === undefined)("acting on calls in the console", { timeout: 90_000 }, () => {
  const tested = openConsole();
  const client = () => createTracingClient({ baseUrl: tested.url, apiKey: ownerKey });
  const dialog = (page: Page) => page.getByRole("dialog", { name: "Act on calls" });

  async function fill(projectId: string): Promise<void> {
    const calls = Array.from({ length: 6 }, (_, index) => ({
      id: `c${index}`,
      name: index < 4 ? "answer" : "other",
      at: index,
      ms: 1,
      inputs: `{"n":${index}.0}`,
    }));
    await writeCalls(tested.service, projectId, calls);
  }

  test("all that match go into a new queue and get feedback, and calls chosen by key become rows of a dataset", async () => {
    const projectId = newProject();
    await fill(projectId);
    const visited = await tested.open(`${projectId}/calls?op=answer`);
    const { page, problems } = visited;
    await page.getByText("4 calls", { exact: true }).waitFor();
    await page.keyboard.press("*");
    await page.keyboard.press("q");
    await dialog(page).getByText("4 calls match.").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await dialog(page).getByLabel("Name of the queue").fill("Wrong answers");
    await dialog(page).getByRole("button", { name: "Queue 4 calls" }).click();
    await dialog(page).getByText("Put 4 calls into the queue.").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("f");
    await dialog(page).getByLabel("Or a note").fill("late");
    await dialog(page).getByRole("button", { name: "Give it to 4 calls" }).click();
    await dialog(page).getByText("Given to 4 calls.").waitFor();
    await page.keyboard.press("Escape");
    const { result } = await client().feedbackQuery({ project_id: projectId });
    expect(result.map(({ payload }) => payload)).toEqual(Array.from({ length: 4 }, () => ({ note: "late" })));

    await page.keyboard.press("Escape");
    await page.keyboard.press("x");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByText("2 calls chosen").waitFor();
    expect(new URL(page.url()).searchParams.get("chosen")).toBe("c3,c1");
    await page.reload();
    await page.getByText("2 calls chosen").waitFor();
    await page.keyboard.press("d");
    await dialog(page).getByLabel("Dataset").fill("questions");
    await dialog(page).getByLabel("Columns of a row").fill("inputs.n");
    await dialog(page).getByRole("button", { name: "Add 2 calls" }).click();
    await dialog(page).getByText("Added 2 calls to questions, version 1.").waitFor();
    expect(problems).toEqual([]);
  });

  test("calls are deleted once their number was entered, and not if there are others by then", async () => {
    const projectId = newProject();
    await fill(projectId);
    const { page, problems } = await tested.open(`${projectId}/calls?op=answer`);
    await page.getByText("4 calls", { exact: true }).waitFor();
    await page.keyboard.press("*");
    await page.keyboard.press("Delete");
    await dialog(page).getByText("4 calls match.").waitFor();
    const button = (calls: string) => dialog(page).getByRole("button", { name: `Delete ${calls}` });
    expect(await button("4 calls").isDisabled()).toBe(true);
    await writeCalls(tested.service, projectId, [{ id: "late", name: "answer", at: 10, ms: 1 }]);
    await dialog(page).getByLabel("Enter 4 to confirm").fill("4");
    await button("4 calls").click();
    await dialog(page).getByText("Nothing was done.").waitFor();
    await dialog(page).getByLabel("Enter 5 to confirm").fill("5");
    await button("5 calls").click();
    await dialog(page).getByText("Deleted 5 calls, 5 calls with those below.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("There are no such calls").waitFor();
    await page.keyboard.press("Backspace");
    await page.getByText("2 calls", { exact: true }).waitFor();
    expect(problems).toEqual([]);
  });

  test("with a key that may only read, nothing can be done, and it says why", async () => {
    const projectId = newProject();
    await fill(projectId);
    const [entity = ""] = projectId.split("/");
    const { secret } = await client().keyCreate({ user: "ada", role: "read", entity });
    const { page, problems } = await tested.open(`${projectId}/calls`, secret);
    await page.getByText("6 calls", { exact: true }).waitFor();
    await page.keyboard.press("*");
    await page.getByText("Your key may only read.").waitFor();
    expect(await page.getByRole("button", { name: /^Delete/ }).isDisabled()).toBe(true);
    await page.keyboard.press("Delete");
    await dialog(page).getByText("6 calls match.").waitFor();
    expect(await dialog(page).getByRole("button", { name: "Delete 6 calls" }).isDisabled()).toBe(true);
    expect(problems).toEqual([]);
  });
});
