import { describe, expect, test } from "vitest";
import { newProject, ownerKey } from "../test-service.js";
import { chromiumPath } from "./browser.js";
import { axeInBothSchemes, openConsole } from "./open-console.js";

describe.skipIf(chromiumPath === undefined)("the library in the console", () => {
  const console_ = openConsole();

  /** As text, so that numbers are what the test says. */
  async function post(path: string, body: string): Promise<Record<string, string>> {
    const response = await console_.service.fetch(`http://in-process${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" },
      body,
    });
    const text = await response.text();
    expect([response.status, response.ok ? "" : text]).toEqual([200, ""]);
    return JSON.parse(text) as Record<string, string>;
  }
  const publish = async (projectId: string, name: string, val: string) =>
    (await post("/obj/create", `{"obj":{"project_id":"${projectId}","object_id":"${name}","val":${val}}}`))["digest"];
  const publishTable = async (projectId: string, rows: string[]) =>
    (await post("/table/create", `{"table":{"project_id":"${projectId}","rows":[${rows.join(",")}]}}`))["digest"];
  const dataset = (projectId: string, table: string | undefined) =>
    `{"_type":"Dataset","_class_name":"Dataset","_bases":["Object","BaseModel"],"rows":"weave:///${projectId}/table/${table}"}`;

  test(
    "a dataset: rows to the digit, what changed between versions, labels, the calls that got it",
    { timeout: 120_000 },
    async () => {
      const projectId = newProject();
      const rows = Array.from(
        { length: 250 },
        (_, index) => `{"id":${index},"price":${index}.0,"text":"row ${index}"}`,
      );
      await publish(projectId, "questions", dataset(projectId, await publishTable(projectId, rows)));
      const changed = rows.with(200, '{"id":107505301260286111,"price":1.50,"text":"other"}');
      const digest = await publish(projectId, "questions", dataset(projectId, await publishTable(projectId, changed)));
      const tracing = console_.service.tracing();
      await tracing.callStart({
        start: {
          project_id: projectId,
          op_name: "evaluate",
          started_at: new Date().toISOString(),
          attributes: {},
          inputs: { dataset: `weave:///${projectId}/object/questions:${digest}` },
        },
      });
      const visited = await console_.open(`${projectId}/library`);
      const { page, problems } = visited;
      await page.getByRole("grid", { name: "Datasets" }).getByText("questions").waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "questions v1", level: 1 }).waitFor();
      await page.getByText("250 rows").waitFor();
      await page.getByRole("region", { name: "Where used" }).getByText("1 call with it among the inputs").waitFor();
      await page.getByRole("region", { name: "Where used" }).getByRole("link", { name: "evaluate" }).first().waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await page.keyboard.press("j");
      await page.getByRole("group", { name: "row" }).getByText("1.0", { exact: true }).waitFor();
      await page.keyboard.press("G");
      await page.getByRole("group", { name: "row" }).getByText("249.0", { exact: true }).waitFor();
      // What is shown is in the address.
      await page.reload();
      await page.getByRole("group", { name: "row" }).getByText("249.0", { exact: true }).waitFor();
      await page.keyboard.press("a");
      await page.keyboard.type("production");
      await page.keyboard.press("Enter");
      await page.getByRole("navigation", { name: "Versions" }).getByText("production").waitFor();
      await page.keyboard.press("=");
      const changes = page.getByRole("region", { name: "Changes of rows" });
      await changes.getByText("+1 −1 of 250 lines").waitFor();
      expect(await changes.locator(".is-added code").allInnerTexts()).toEqual([
        '{"id":107505301260286111,"price":1.50,"text":"other"}',
      ]);
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await page.keyboard.press("=");
      await page.getByText("250 rows").waitFor();
      await page.keyboard.press("]");
      await page.getByRole("heading", { name: "questions v0", level: 1 }).waitFor();
      await page.getByText("No call names this version.").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("grid", { name: "Datasets" }).getByText("production").waitFor();
      await page.keyboard.press("l");
      await page.getByText(`${projectId} has no prompts`).waitFor();
      expect(problems).toEqual([]);
    },
  );

  test(
    "an op has its source, a prompt its messages; a key that may read only changes no label",
    { timeout: 120_000 },
    async () => {
      const projectId = newProject("lib");
      const form = new FormData();
      form.append("project_id", projectId);
      form.append("file", new Blob(["def greet(name):\n    return f'Hello, {name}'\n"]), "obj.py");
      const file = await console_.service.fetch("http://in-process/files/create", {
        method: "POST",
        headers: { authorization: `Bearer ${ownerKey}` },
        body: form,
      });
      const { digest } = (await file.json()) as { digest: string };
      await publish(
        projectId,
        "greet",
        `{"_type":"CustomWeaveType","weave_type":{"type":"Op"},"files":{"obj.py":"${digest}"}}`,
      );
      await publish(
        projectId,
        "polite",
        '{"_type":"MessagesPrompt","_class_name":"MessagesPrompt","_bases":["Prompt","Object","BaseModel"],"messages":[{"role":"system","content":"Be polite.\\u202e"}]}',
      );
      const key = await console_.service.key({ entity: "lib", role: "read" });
      const visited = await console_.open(`${projectId}/library/ops`, key);
      const { page, problems } = visited;
      await page.getByRole("grid", { name: "Ops" }).getByText("greet").waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("region", { name: "obj.py" }).getByText("return f'Hello, {name}'").waitFor();
      await page.getByText("No call names this version.").waitFor();
      expect(await page.getByRole("button", { name: /Alias/ }).count()).toBe(0);
      expect(await axeInBothSchemes(visited)).toEqual([]);
      await page.goto(`${console_.url}/console/${projectId}/library/prompts/polite/latest`);
      await page.getByText("Be polite.⟨202E⟩").first().waitFor();
      await page.goto(`${console_.url}/console/${projectId}/library/prompts/polite/v7`);
      await page.getByRole("heading", { name: "There is no such version" }).waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      expect(problems).toEqual([]);
    },
  );

  test(
    "names that look like paths and markup are opened by keyboard; nothing in a value runs or hangs the page",
    { timeout: 120_000 },
    async () => {
      const projectId = newProject();
      const names = ["..", "日本語", "a.b-c_d", "__proto__", "constructor", "x".repeat(128)];
      const planted = "<img src=x onerror='window.planted=true'>\u202E\u001B[31m";
      const value = JSON.stringify({
        _type: "Dataset",
        _bases: ["Object", "BaseModel"],
        _class_name: "Dataset",
        [planted]: planted,
      });
      for (const name of names) {
        await publish(projectId, name, value.replace("{", '{"price":1.0,"price":1e300,'));
        await publish(
          projectId,
          name,
          value.replace("{", `{"deep":${"[".repeat(190)}${"]".repeat(190)},"wide":"${"w".repeat(1_000_000)}",`),
        );
      }
      const rows = [
        `{${JSON.stringify(planted)}:${JSON.stringify(planted)},"__proto__":1.0}`,
        `{"n":107505301260286111}`,
      ];
      await publish(projectId, "rows", dataset(projectId, await publishTable(projectId, rows)));
      const { page, problems } = await console_.open(`${projectId}/library`);
      const grid = page.getByRole("grid", { name: "Datasets" });
      await grid.waitFor();
      for (const name of [...names, "rows"]) {
        await page.goto(`${console_.url}/console/${projectId}/library?at=${encodeURIComponent(name)}`);
        await grid.locator("[aria-selected=true]").getByText(name, { exact: true }).waitFor();
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: `${name} v`, level: 1 }).waitFor();
        if (name === "rows") continue;
        await page.getByRole("navigation", { name: "Versions" }).getByRole("link", { name: "v0" }).waitFor();
        await page.keyboard.press("=");
        await page.getByRole("region", { name: "Changes of value" }).getByText("1,000,0").first().waitFor();
        await page.reload();
        await page.getByRole("region", { name: "Changes of value" }).getByText('"price": 1e300').waitFor();
      }
      await page.getByRole("grid", { name: "Rows" }).getByText("107505301260286111").waitFor();
      await page.getByRole("columnheader", { name: "⟨202E⟩" }).waitFor();
      expect(await page.evaluate("window.planted")).toBeUndefined();
      expect(problems).toEqual([]);
    },
  );
});
