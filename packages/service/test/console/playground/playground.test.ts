import { describe, expect, onTestFinished, test } from "vitest";
import { newProject } from "../../test-service.js";
import { startUpstream } from "../../upstream.js";
import { newModel } from "../../training/jobs.js";
import { chromiumPath } from "../browser.js";
import { axeInBothSchemes, openConsole } from "../open-console.js";
import { writeCalls } from "../write-calls.js";

const hostile = '<img src=x onerror="window.planted = true">\u202E';

describe.skipIf(chromiumPath === undefined)("the playground", () => {
  const console_ = openConsole();

  test(
    "a recorded call runs on two models side by side, byte for byte where it is not edited",
    { timeout: 240_000 },
    async () => {
      const projectId = newProject("local");
      const tool = '{"type":"function","function":{"name":"look","parameters":{"type":"object","maximum":1E2}}}';
      await writeCalls(console_.service, projectId, [
        {
          id: "chat",
          name: "chat",
          ms: 5,
          inputs: `{"self":null,"model":"gpt-x","messages":[{"role":"system","content":"Be brief.","name":"s"}, {"role":"user","content":"Say the word loom."}],"tools":[${tool}],"tool_choice":"none","temperature":0.0,"seed":107505301260286111,"max_completion_tokens":12}`,
          output: `{"choices":[{"message":{"role":"assistant","content":${JSON.stringify(`Recorded ${hostile}`)}}}]}`,
        },
      ]);
      const visited = await console_.open(`${projectId}/calls/chat`);
      const { page, problems } = visited;
      const keys = page.keyboard;
      await page.getByRole("button", { name: "Try again" }).waitFor();
      await keys.press("r");
      await page.getByRole("region", { name: "Recorded" }).getByText("⟨202E⟩").waitFor();
      await page.getByLabel("Message 2", { exact: true }).waitFor();
      expect(await page.getByLabel("seed", { exact: true }).inputValue()).toBe("107505301260286111");
      await page.getByLabel("Add a model").selectOption("random:tiny");
      await page.getByRole("region", { name: "heddle/starter" }).waitFor();
      const bodies: string[] = [];
      page.on("request", (request) => {
        if (request.url().endsWith("/v1/chat/completions")) bodies.push(request.postData() ?? "");
      });
      await keys.press("Control+Enter");
      const starter = page.getByRole("region", { name: "heddle/starter" });
      await starter.getByText(/✓ done/).waitFor();
      const visibleText = await starter.locator(".play-text").innerText();
      const address = (await starter.getByRole("link", { name: "trace" }).getAttribute("href")) ?? "";
      const { call } = await console_.service
        .tracing()
        .callRead({ project_id: projectId, id: decodeURIComponent(address.split("/").at(-1) ?? "") });
      expect(call?.output).toMatchObject({ choices: [{ message: { content: visibleText } }] });
      await page
        .getByRole("region", { name: "random:tiny" })
        .getByText(/✓ done|✗ failed/)
        .waitFor();
      const unedited = `"messages":[{"role":"system","content":"Be brief.","name":"s"}, {"role":"user","content":"Say the word loom."}],"tools":[${tool}],"tool_choice":"none","temperature":0.0,"seed":107505301260286111,"max_completion_tokens":12,"stream":true,"stream_options":{"include_usage":true}}`;
      expect(bodies.toSorted()).toEqual([
        `{"model":"heddle/starter",${unedited}`,
        `{"model":"random:tiny",${unedited}`,
      ]);
      expect(await axeInBothSchemes(visited)).toEqual([]);
      // Only the edited message has another text.
      await page.getByLabel("Message 1", { exact: true }).fill("Be long.");
      await page.getByLabel("temperature", { exact: true }).fill("-1");
      await page.getByText("✗ at least 0").waitFor();
      expect(await page.getByRole("button", { name: "Run" }).isDisabled()).toBe(true);
      await page.getByLabel("temperature", { exact: true }).fill("0");
      bodies.length = 0;
      await keys.press("Control+Enter");
      await expect.poll(() => bodies.length).toBe(2);
      expect(bodies[0]).toContain(
        '{"role":"system","content":"Be long.","name":"s"},{"role":"user","content":"Say the word loom."}',
      );
      await starter.getByText(/✓ done/).waitFor();
      // The answer is a call of the project, and a row of a dataset.
      await starter.getByRole("link", { name: "trace" }).click();
      await page.getByRole("heading", { name: "heddle.chat.completions", level: 1 }).waitFor();
      await page.goBack();
      await page.getByLabel("Message 1", { exact: true }).waitFor();
      await keys.press("Control+s");
      await page.getByLabel("Name: a prompt").fill("loom-prompt");
      await keys.press("Enter");
      await page.getByRole("link", { name: "Open it in the library" }).click();
      await page.getByText("Say the word loom.").first().waitFor();
      expect(await page.evaluate("window.planted")).toBeUndefined();
      expect(problems).toEqual([]);
    },
  );

  test("what one model does wrong is said in its column, and the others go on", { timeout: 240_000 }, async () => {
    const projectId = newProject("local");
    const chunk = (content: string) => `data: {"choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\n`;
    const stream = { status: 200, contentType: "text/event-stream" };
    const models = ["garbage", "broken", "busy", "html", "heddle/starter"];
    const visited = await console_.open(`${projectId}/play?models=${models.join(",")}`);
    const { page, problems } = visited;
    await page.route("**/v1/chat/completions", async (route) => {
      const { model } = JSON.parse(route.request().postData() ?? "{}") as { model: string };
      if (model === "garbage") await route.fulfill({ ...stream, body: `${chunk("so far")}data: [1, "x"]\n\n` });
      else if (model === "broken") await route.fulfill({ ...stream, body: chunk("half an ans") });
      else if (model === "busy")
        await route.fulfill({
          status: 429,
          headers: { "retry-after": "7" },
          contentType: "application/json",
          body: '{"error":{"message":"Too many requests for this key","type":"rate"}}',
        });
      else if (model === "html")
        await route.fulfill({ status: 502, contentType: "text/html", body: `<h1>Bad gateway</h1>${hostile}` });
      else await route.continue();
    });
    await page.getByLabel("Message 1", { exact: true }).fill("Say the word loom.");
    await page.getByLabel("max_completion_tokens", { exact: true }).fill("8");
    await page.keyboard.press("Control+Enter");
    const column = (name: string) => page.getByRole("region", { name, exact: true });
    await column("garbage").getByText("so far").waitFor();
    await column("garbage").getByText("It broke off.").waitFor();
    await column("broken").getByText("half an ans").waitFor();
    await column("broken").getByText("It broke off.").waitFor();
    await column("busy").getByText("Too many requests for this key", { exact: true }).waitFor();
    await column("busy").getByText("the service asks to wait 7 s").waitFor();
    await column("html").getByText("status 502").waitFor();
    await column("heddle/starter")
      .getByText(/✓ done/)
      .waitFor();
    await column("heddle/starter").getByRole("link", { name: "trace" }).waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    // A model that never answers is stopped by a key.
    await page.unroute("**/v1/chat/completions");
    await page.route("**/v1/chat/completions", () => undefined);
    await page.keyboard.press("Control+Enter");
    await column("broken").getByText("● running").waitFor();
    await page.keyboard.press("Control+.");
    for (const model of models)
      await column(model)
        .getByText(/^stopped/)
        .waitFor();
    expect(await page.evaluate("window.planted")).toBeUndefined();
    expect(problems).toEqual([]);
  });

  test(
    "of servers that stream badly what came stays, and each is asked again alone",
    { timeout: 240_000 },
    async () => {
      const chunk = (content: string, more = "") =>
        `data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}}${more}}]}\n\n`;
      const end = `${chunk("", ',"finish_reason":"stop"')}data: [DONE]\n\n`;
      const asked: string[] = [];
      const upstream = await startUpstream({
        "POST /v1/chat/completions": (response, { body }) => {
          const { model } = JSON.parse(body) as { model: string };
          asked.push(model);
          if (model === "busy" && asked.filter((one) => one === model).length === 1) {
            const headers = { "retry-after": "7", "content-type": "application/json" };
            response.writeHead(429, headers).end('{"error":{"message":"Too many requests","type":"rate"}}');
            return;
          }
          response.writeHead(200, { "content-type": "text/event-stream" });
          if (model === "garbage") response.end(`${chunk("so far")}data: {"choices": [\uFFFD\n\n\u0000\n\n`);
          else if (model === "cut") {
            response.write(chunk("half an ans"));
            // A browser forgets what came together with the end of the connection.
            setTimeout(() => response.socket?.end(), 2000);
          } else if (model === "huge") response.end(`${chunk("x".repeat(10_000_000))}${end}`);
          else if (model === "endless") response.write(chunk("and on and "));
          else response.end(`${chunk("after all")}${end}`);
        },
      });
      onTestFinished(async () => await upstream.close());
      const models = ["garbage", "cut", "busy", "huge", "endless", "heddle/starter"];
      const visited = await console_.open(`${newProject("local")}/play?models=${models.join(",")}`);
      const { page, problems } = visited;
      await page.route("**/v1/chat/completions", async (route) => {
        const { model } = JSON.parse(route.request().postData() ?? "{}") as { model: string };
        if (model === "heddle/starter") await route.continue();
        else await route.continue({ url: `${upstream.url}/v1/chat/completions` });
      });
      await page.getByLabel("Message 1", { exact: true }).fill("Say the word loom.");
      await page.getByLabel("max_completion_tokens", { exact: true }).fill("8");
      await page.keyboard.press("Control+Enter");
      const column = (name: string) => page.getByRole("region", { name, exact: true });
      for (const [name, text] of [
        ["garbage", "so far"],
        ["cut", "half an ans"],
      ] as const) {
        await column(name).getByText("It broke off.").waitFor();
        await column(name).getByText(text, { exact: true }).waitFor();
      }
      await column("busy").getByText("the service asks to wait 7 s").waitFor();
      await column("huge")
        .getByText(/✓ done/)
        .waitFor();
      await column("huge").getByText("10,000 of 10,000,000 characters: show more").waitFor();
      await column("heddle/starter")
        .getByText(/✓ done/)
        .waitFor();
      await column("endless").getByText("and on and").waitFor();
      await column("endless").getByText("● running").waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      const others = async () => {
        const texts = await page.locator(".play-column").allInnerTexts();
        return texts.filter((_, index) => models[index] !== "busy");
      };
      const before = await others();
      await column("busy").getByRole("button", { name: "Try again" }).click();
      await column("busy").getByText("after all").waitFor();
      expect(await others()).toEqual(before);
      expect(asked).toHaveLength(6);
      await page.keyboard.press("Control+.");
      await column("endless")
        .getByText(/^stopped/)
        .waitFor();
      await column("endless").getByText("and on and").waitFor();
      expect(problems).toEqual([]);
    },
  );

  test(
    "a checkpoint next to its base says token by token which of the two finds its answer likelier",
    { timeout: 240_000 },
    async () => {
      const projectId = newProject("local");
      const model = await newModel(console_.service.training(), projectId);
      const name = model.inference_name;
      const visited = await console_.open(`${projectId}/play?models=${encodeURIComponent(name)}`);
      const { page, problems } = visited;
      await page.getByLabel("Message 1", { exact: true }).fill("Say the word loom.");
      await page.getByLabel("max_completion_tokens", { exact: true }).fill("6");
      // Tools are kept as they are written, and said to be wrong while they are.
      await page.getByText("No tools", { exact: true }).click();
      const tools = page.getByLabel("Tools as JSON");
      await tools.fill('[{"type":"function","function":{}}]');
      await page.getByText("✗ Tool 1 has no function with a name").waitFor();
      expect(await page.getByRole("button", { name: "Run" }).isDisabled()).toBe(true);
      const tool = '[{"type":"function","function":{"name":"look","parameters":{"type":"object","maximum":1E2}}}]';
      await tools.fill(tool);
      await page.getByText("Tools: look").waitFor();
      await page.getByText("further parameters").click();
      await page.getByLabel("repetition_penalty", { exact: true }).fill("0");
      await page.getByText("✗ above 0").waitFor();
      await page.getByLabel("repetition_penalty", { exact: true }).fill("1.0");
      await page.getByText("All parameters as JSON").click();
      await page
        .getByLabel("Parameters as JSON")
        .fill('{"max_completion_tokens": 6, "temprature": 1, "tool_choice": "none"}');
      await page.getByText("The service ignores temprature").waitFor();
      const bodies: string[] = [];
      page.on("request", (request) => {
        if (request.url().endsWith("/v1/chat/completions")) bodies.push(request.postData() ?? "");
      });
      await page.keyboard.press("Control+Enter");
      const column = page.getByRole("region", { name, exact: true });
      await column.getByText(/✓ done/).waitFor();
      expect(bodies[0]).toContain(`"tools":${tool}`);
      await column.getByRole("button", { name: "Compare its tokens with the base" }).click();
      // Nothing was trained yet: both find it equally likely.
      const compared = column.getByRole("region", { name: "Tokens compared with the base" });
      await compared.getByText(/difference [+−]0\.00/).waitFor();
      expect(await compared.locator(".play-tokens > span").count()).toBeGreaterThanOrEqual(6);
      expect(bodies).toHaveLength(3);
      expect(await axeInBothSchemes(visited)).toEqual([]);
      // Reading the answer leaves no calls.
      const { calls } = await console_.service.tracing().callsQuery({ project_id: projectId });
      expect(calls).toHaveLength(1);
      expect(problems).toEqual([]);
    },
  );
});
