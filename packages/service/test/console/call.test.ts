import { createTracingClient } from "@heddle/client/tracing";
import { describe, expect, test } from "vitest";
import { newProject, ownerKey } from "../test-service.js";
import { chromiumPath } from "./browser.js";
import { axeInBothSchemes, openConsole } from "./open-console.js";
import { writeCalls } from "./write-calls.js";

/** One pixel. */
const image =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe.skipIf(chromiumPath === undefined)("a call in the console", { timeout: 90_000 }, () => {
  const tested = openConsole();
  const client = () => createTracingClient({ baseUrl: tested.url, apiKey: ownerKey });

  test("one of a model is a conversation with tool calls, reasoning and images, or its JSON", async () => {
    const projectId = newProject();
    const inputs = `{"model":"m","temperature":1.0,"messages":[
      {"role":"user","content":[{"type":"text","text":"Which order?"},{"type":"image_url","image_url":{"url":"${image}"}},
        {"type":"image_url","image_url":{"url":"https://elsewhere.example/x.png"}}]},
      {"role":"assistant","content":null,"tool_calls":[{"id":"t1","function":{"name":"orders.get","arguments":"{\\"id\\": 8841.0}"}}]},
      {"role":"tool","tool_call_id":"t1","content":"<b>sent</b>"}]}`;
    const output = `{"choices":[{"message":{"role":"assistant","content":"It left.","reasoning_content":"8841 is old."}}]}`;
    await writeCalls(tested.service, projectId, [{ id: "chat", name: "chat", ms: 5, inputs, output }]);
    const visited = await tested.open(`${projectId}/calls/chat`);
    const { page, problems } = visited;
    const messages = page.getByRole("group", { name: "Messages" });
    await messages.getByText("It left.").waitFor();
    await messages.getByText("8841.0").waitFor();
    await messages.getByText("<b>sent</b>").waitFor();
    expect(await messages.getByRole("img").count()).toBe(1);
    await messages.getByText("https://elsewhere.example/x.png").waitFor();
    await messages.getByText("reasoning, 12 characters").click();
    await messages.getByText("8841 is old.").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.getByRole("heading", { name: "chat", level: 1 }).click();
    await page.keyboard.press("m");
    await page.getByRole("group", { name: "inputs" }).getByText("1.0").waitFor();
    await page.reload();
    await page.getByRole("group", { name: "inputs" }).getByText("1.0").waitFor();
    await page.getByRole("button", { name: "As messages" }).click();
    await messages.getByText("It left.").waitFor();
    expect(problems).toEqual([]);
  });

  test("feedback is given by keys and taken back where the call is", async () => {
    const projectId = newProject();
    await writeCalls(tested.service, projectId, [{ id: "one", ms: 5 }]);
    const { page, problems } = await tested.open(`${projectId}/calls/one`);
    const feedback = page.getByRole("region", { name: "Feedback" });
    await feedback.waitFor();
    await page.keyboard.press("2");
    await feedback.getByRole("listitem").getByText("👎").waitFor();
    await page.keyboard.press("f");
    await page.keyboard.type("too 1 slow");
    await page.keyboard.press("Enter");
    await feedback.getByText("too 1 slow").waitFor();
    const given = async () => {
      const { result } = await client().feedbackQuery({ project_id: projectId });
      return result.map(({ feedback_type }) => feedback_type);
    };
    expect(await given()).toEqual(["wandb.reaction.1", "wandb.note.1"]);
    await feedback.getByRole("button", { name: "Take it back" }).first().click();
    await feedback.getByRole("listitem").getByText("👎").waitFor({ state: "detached" });
    expect(await given()).toEqual(["wandb.note.1"]);
    expect(problems).toEqual([]);
  });

  test("a cost is explained by tokens and the price that was applied", async () => {
    const projectId = newProject();
    await client().costCreate({
      project_id: projectId,
      costs: { mine: { prompt_token_cost: 0.000002, completion_token_cost: 0.00001, provider_id: "acme" } },
    });
    const summary = `{"usage":{"mine":{"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050,"requests":1}}}`;
    await writeCalls(tested.service, projectId, [{ id: "one", ms: 5, summary }]);
    const { page, problems } = await tested.open(`${projectId}/calls/one`);
    const cost = page.getByRole("region", { name: "Cost" });
    await cost.getByText("price of the project for acme").waitFor();
    expect(await cost.getByRole("row", { name: /^prompt/ }).innerText()).toMatch(/1,000\s+2.00\s+0.00200/);
    expect(await cost.getByRole("row", { name: /^completion/ }).innerText()).toMatch(/50\s+10.0\s+0.000500/);
    await cost.getByText("0.00250").waitFor();
    expect(problems).toEqual([]);
  });
});
