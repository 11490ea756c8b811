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

  test("words are found in values that are closed, and far down in a long text, whatever their case", async () => {
    const projectId = newProject();
    const deep = `{"a":{"b":{"c":{"d":["x","a GIFT card"]}}},"n":1.0}`;
    const long = `${"word ".repeat(5000)}the gift\u202E${" word".repeat(5000)}`;
    const calls = [{ id: "values", ms: 5, inputs: deep, output: JSON.stringify(long) }];
    await writeCalls(tested.service, projectId, calls);
    const visited = await tested.open(`${projectId}/calls/values`);
    const { page, problems } = visited;
    await page.getByRole("group", { name: "inputs" }).getByText("1.0").waitFor();
    expect(await page.getByText("a GIFT card").count()).toBe(0);
    await page.keyboard.press("F");
    await page.keyboard.type("gift");
    await page.keyboard.press("Enter");
    await page.getByText("2 places", { exact: true }).waitFor();
    await page.getByRole("group", { name: "inputs" }).locator("mark").getByText("GIFT", { exact: true }).waitFor();
    await page.getByText("1 place further down:").waitFor();
    await page.getByText("the gift⟨202E⟩").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.reload();
    await page.getByText("2 places", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Find nothing in the values" }).click();
    await page.getByText("a GIFT card").waitFor({ state: "detached" });
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

  test("a running trace grows by a tail, and a parent that arrives late moves nothing that is read", async () => {
    const projectId = newProject();
    const trace = "growing";
    const early = Array.from({ length: 60 }, (_, index) => ({
      id: `early-${index}`,
      name: `early ${index}`,
      trace,
      parent: "root",
      at: 10 + index,
      ms: 1,
    }));
    const orphan = { id: "orphan", name: "orphan", trace, parent: "late", at: 500, ms: 1 };
    await writeCalls(tested.service, projectId, [{ id: "root", name: "root", trace }, ...early, orphan]);
    const { page, problems } = await tested.open(`${projectId}/calls/root?span=orphan`);
    const tree = page.getByRole("treegrid");
    const current = tree.locator("[aria-selected=true]");
    await current.getByText("orphan").waitFor();
    await tree.getByText("parent late has not arrived").waitFor();
    const top = async () => Math.round((await current.boundingBox())?.y ?? 0);
    const before = await top();
    await writeCalls(tested.service, projectId, [
      ...Array.from({ length: 5 }, (_, index) => ({ id: `more-${index}`, name: "more", trace, parent: "root", ms: 1 })),
      { id: "late", name: "late", trace, parent: "root", at: 450, ms: 100 },
    ]);
    await tree.getByText("parent late has not arrived").waitFor({ state: "detached" });
    await current.getByText("orphan").waitFor();
    expect(await top()).toBe(before);
    await writeCalls(tested.service, projectId, [{ id: "root", name: "root", trace, ms: 9000, output: "1.0" }]);
    await page.getByText("9.00 s").first().waitFor();
    expect(problems).toEqual([]);
  });

  test("the times of a trace are looked at closer by keys and by a pointer, and the address keeps the part", async () => {
    const projectId = newProject();
    const trace = "timed";
    await writeCalls(tested.service, projectId, [
      { id: "root", name: "root", trace, ms: 10_000 },
      { id: "early", name: "early", trace, parent: "root", at: 1000, ms: 100 },
      { id: "late", name: "late", trace, parent: "root", at: 9000, ms: 100 },
    ]);
    const visited = await tested.open(`${projectId}/calls/root?span=early`);
    const { page, problems } = visited;
    const tree = page.getByRole("treegrid");
    const barOf = (name: string) => tree.locator(".tree-body .tree-row").filter({ hasText: name }).locator(".tree-bar");
    const widthOf = async (name: string) => (await barOf(name).locator(".bar").boundingBox())?.width ?? 0;
    const zoom = () => new URL(page.url()).searchParams.get("zoom");
    await barOf("early").locator(".bar").waitFor();
    const before = await widthOf("early");
    await page.keyboard.press("z");
    expect(zoom()).toBe("995000-1105000");
    expect(await widthOf("early")).toBeGreaterThan(10 * before);
    await barOf("late").getByText("›").waitFor();
    await tree.getByText("+995 ms").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.reload();
    await tree.getByText("+995 ms").waitFor();
    await page.keyboard.press(">");
    expect(zoom()).toBe("1022500-1132500");
    await page.keyboard.press("-");
    await page.keyboard.press("Z");
    expect(zoom()).toBeNull();
    // The last fifth, by dragging over it; with the wheel around what is there.
    const box = await barOf("root").boundingBox();
    if (box === null) throw new Error("no times");
    const y = box.y + 8;
    await page.mouse.move(box.x + box.width * 0.8, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 1, y, { steps: 5 });
    await page.mouse.up();
    await barOf("early").getByText("‹").waitFor();
    const dragged = await widthOf("late");
    expect(dragged).toBeGreaterThan(3 * before);
    await page.mouse.move(box.x + box.width * 0.55, y);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    await expect.poll(() => widthOf("late")).toBeGreaterThan(dragged);
    await barOf("late").locator(".bar").dblclick();
    expect(zoom()).toBe("8995000-9105000");
    await page.goto(`${tested.url}/console/${projectId}/calls/root?zoom=99999999999-1`);
    await barOf("late").getByText("‹").waitFor();
    expect(problems).toEqual([]);
  });

  test("a text of 20 MB is shown by its beginning, and further on request", async () => {
    const projectId = newProject();
    const text = `${"line of text ".repeat(1_500_000)}end`;
    await writeCalls(tested.service, projectId, [{ id: "large", ms: 1, output: JSON.stringify({ text }) }]);
    const { page, problems } = await tested.open(`${projectId}/calls/large`);
    const output = page.getByRole("group", { name: "output" });
    await output.getByText("2,000 of about 19,500,003 characters: show more").click();
    await output.getByText("20,000 of about 19,500,003 characters: show more").waitFor();
    expect((await output.locator(".json-value").innerText()).length).toBe(20_000);
    expect(problems).toEqual([]);
  });

  test("it goes into a queue, and is deleted, from where it is read", async () => {
    const projectId = newProject();
    await writeCalls(tested.service, projectId, [
      { id: "one", name: "one", ms: 5 },
      { id: "below", name: "below", trace: "one", parent: "one", ms: 1 },
    ]);
    const { page, problems } = await tested.open(`${projectId}/calls/one`);
    const dialog = page.getByRole("dialog", { name: "Act on calls" });
    await page.getByRole("treegrid").getByText("below").waitFor();
    await page.keyboard.press("q");
    await dialog.getByLabel("Name of the queue").fill("Check");
    await dialog.getByRole("button", { name: "Queue 1 call" }).click();
    await dialog.getByText("Put 1 call into the queue.").waitFor();
    await page.goBack();
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("Delete");
    await dialog.getByLabel("Enter 1 to confirm").fill("1");
    await dialog.getByRole("button", { name: "Delete 1 call" }).click();
    await dialog.getByText("Deleted 1 call, 2 calls with those below.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "There is no such call" }).waitFor();
    expect(problems).toEqual([]);
  });

  test("the messages of a trace are one conversation, each once, and lead to their calls", async () => {
    const projectId = newProject();
    const trace = "agent";
    const attributes = '{"weave":{"kind":"model"}}';
    const chat = (id: string, at: number, messages: string[], answer: string) => ({
      id,
      name: id,
      trace,
      parent: "root",
      at,
      ms: 5,
      attributes,
      inputs: `{"model":"m","messages":[${messages.join(",")}]}`,
      output: `{"choices":[{"message":${answer}}]}`,
    });
    const [question, look] = ['{"role":"user","content":"Where is it?"}', '{"role":"assistant","content":"I look."}'];
    await writeCalls(tested.service, projectId, [
      { id: "root", name: "root", trace, ms: 100, inputs: '{"question":"Where is it?"}' },
      chat("first", 10, [question], look),
      chat(
        "second",
        20,
        [question, look, '{"role":"user","content":"And?"}'],
        '{"role":"assistant","content":"On its way."}',
      ),
    ]);
    const visited = await tested.open(`${projectId}/calls/root`);
    const { page, problems } = visited;
    await page.getByRole("treegrid").getByText("second").waitFor();
    await page.keyboard.press("c");
    const messages = page.getByRole("group", { name: "Messages" });
    await messages.getByText("On its way.").waitFor();
    await page.getByText("4 messages of 2 calls to models").waitFor();
    expect(await messages.locator(".message-text").allInnerTexts()).toEqual([
      "Where is it?",
      "I look.",
      "And?",
      "On its way.",
    ]);
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.reload();
    await messages.getByText("And?").waitFor();
    await messages.getByRole("button", { name: "Open second" }).last().click();
    await page.getByRole("region", { name: "Call", exact: true }).getByRole("heading", { name: "second" }).waitFor();
    expect(problems).toEqual([]);
  });

  test("a conversation of more calls than are read at a time is read on to its end", async () => {
    const projectId = newProject();
    const trace = "long";
    const said = (role: string, content: string) => JSON.stringify({ role, content });
    const calls = Array.from({ length: 450 }, (_, n) => ({
      id: `long-${n}`,
      name: "chat",
      trace,
      parent: "long-root",
      at: n,
      ms: 1,
      attributes: '{"weave":{"kind":"model"}}',
      // Each is sent what was said before it.
      inputs: `{"messages":[${n === 0 ? "" : `${said("user", `Q${n - 1}`)},${said("assistant", `A${n - 1}`)},`}${said("user", `Q${n}`)}]}`,
      output: `{"choices":[{"message":${said("assistant", `A${n}`)}}]}`,
    }));
    await writeCalls(tested.service, projectId, [{ id: "long-root", name: "root", trace, ms: 1000 }, ...calls]);
    const { page, problems } = await tested.open(`${projectId}/calls/long-root?show=trace`);
    await page.getByText("400 messages of the first 200 calls to models").waitFor();
    const later = page.getByRole("button", { name: "Read later calls" });
    await later.click();
    await page.getByText("800 messages of the first 400 calls to models").waitFor();
    await later.click();
    await page.getByText("900 messages of 450 calls to models").waitFor();
    await page.getByRole("group", { name: "Messages" }).getByText("A449", { exact: true }).waitFor();
    await later.waitFor({ state: "detached" });
    expect(problems).toEqual([]);
  });

  test("calls of a trace are found by name, with those above them, and the address keeps it", async () => {
    const projectId = newProject();
    const trace = "wide";
    const below = Array.from({ length: 40 }, (_, index) => ({
      name: index === 30 ? "needle" : "hay",
      trace,
      parent: "root",
      at: index,
      ms: 1,
    }));
    await writeCalls(tested.service, projectId, [{ id: "root", name: "root", trace, ms: 100 }, ...below]);
    const { page, problems } = await tested.open(`${projectId}/calls/root`);
    const names = page.getByRole("treegrid").locator(".tree-body .tree-name");
    await page.getByRole("treegrid").getByText("×30").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("NEED");
    await page.keyboard.press("Enter");
    await page.getByText("1 call found").waitFor();
    expect(await names.allInnerTexts()).toEqual(["root", "needle"]);
    await page.keyboard.press("j");
    await page.getByRole("region", { name: "Call", exact: true }).getByRole("heading", { name: "needle" }).waitFor();
    await page.reload();
    await page.getByText("1 call found").waitFor();
    await page.getByRole("button", { name: "Show all calls of the trace" }).click();
    await page.getByRole("treegrid").getByText("×30").waitFor();
    expect(problems).toEqual([]);
  });
});
