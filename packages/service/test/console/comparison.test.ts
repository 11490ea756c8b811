import { describe, expect, test } from "vitest";
import { newProject } from "../test-service.js";
import { chromiumPath } from "./browser.js";
import { axeInBothSchemes, openConsole } from "./open-console.js";
import { writeCalls } from "./write-calls.js";
import type { NewCall } from "./write-calls.js";

const usage = (tokens: number) =>
  `{"usage":{"mine":{"prompt_tokens":${tokens},"completion_tokens":0,"total_tokens":${tokens},"requests":1}}}`;

/** Two answers to one question: the second one asks a guard, finds nothing and fails. */
const first: NewCall[] = [
  {
    id: "a",
    name: "answer",
    trace: "t1",
    ms: 4100,
    inputs: '{"question":"Where is my order?","limit":1.0}',
    output: '"It left the warehouse on Monday.\\nIt arrives on Friday."',
  },
  { id: "a-plan", name: "plan", trace: "t1", parent: "a", at: 10, ms: 100, output: '"search"' },
  { id: "a-search", name: "search", trace: "t1", parent: "a", at: 200, ms: 900, output: "[1,2]" },
  { id: "a-http", name: "http.get", trace: "t1", parent: "a-search", at: 210, ms: 800, output: '"ok"' },
  {
    id: "a-chat",
    name: "chat",
    trace: "t1",
    parent: "a",
    at: 1200,
    ms: 2000,
    output: '"Friday"',
    summary: usage(1000),
  },
];
const second: NewCall[] = [
  {
    id: "b",
    name: "answer",
    trace: "t2",
    at: 10_000,
    ms: 12_700,
    inputs: '{"question":"Where is my order?","limit":1}',
    exception: "TimeoutError: no response\n  at search",
  },
  { id: "b-plan", name: "plan", trace: "t2", parent: "b", at: 10_010, ms: 100, output: '"search"' },
  { id: "b-guard", name: "guard", trace: "t2", parent: "b", at: 10_150, ms: 30, output: "true" },
  { id: "b-guard-chat", name: "chat", trace: "t2", parent: "b-guard", at: 10_155, ms: 20, summary: usage(64) },
  {
    id: "b-search",
    name: "search",
    trace: "t2",
    parent: "b",
    at: 10_200,
    ms: 12_000,
    exception: "TimeoutError: no response",
  },
];

describe.skipIf(chromiumPath === undefined)("two traces side by side in the console", { timeout: 120_000 }, () => {
  const console_ = openConsole();

  test("two calls marked in the table are compared: what is new, gone, slower and said otherwise", async () => {
    const projectId = newProject();
    await console_.service.tracing().costCreate({
      project_id: projectId,
      costs: { mine: { prompt_token_cost: 0.00001, completion_token_cost: 0.00001 } },
    });
    await writeCalls(console_.service, projectId, [...first, ...second]);
    const visited = await console_.open(`${projectId}/calls?only=root`);
    const { page, problems } = visited;
    await page.getByText("2 calls", { exact: true }).waitFor();
    for (const key of ["j", "x", "k"]) await page.keyboard.press(key);
    expect(await page.getByRole("button", { name: "Compare" }).count()).toBe(0);
    for (const key of ["x", "="]) await page.keyboard.press(key);
    const tree = page.getByRole("treegrid");
    const names = async () => {
      const cells = await tree.locator(".tree-body .tree-row .tree-name").allInnerTexts();
      return cells.map((text) => text.replaceAll(/\s+/g, " ").trim());
    };
    await tree.getByText("guard").waitFor();
    expect(await names()).toEqual([
      "▾ answer ✓ success → ✗ error ≠ inputs, output",
      "plan",
      "▾ + only in B: guard",
      "+ only in B: chat",
      "▾ search ✓ success → ✗ error ≠ output",
      "− only in A: http.get",
      "− only in A: chat",
    ]);
    const difference = page.getByRole("row", { name: /^B − A/ });
    expect((await difference.innerText()).split(/\s{2,}|\t/).filter(Boolean)).toEqual([
      "B − A",
      "same",
      "other",
      "+8.60 s",
      "−936",
      "−0.00936",
      "0",
      "+10.0 s",
    ]);
    const calls = page.getByRole("region", { name: "Calls of the row" });
    const changes = (part: string) => calls.getByRole("region", { name: `Changes of ${part}` });
    const lines = async (part: string) =>
      (await changes(part).getByRole("listitem").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " "));
    await changes("inputs").getByText("1.0").waitFor();
    expect(await lines("inputs")).toContain('− removed: "limit": 1.0');
    expect(await lines("inputs")).toContain('+ added: "limit": 1');
    expect(await lines("exception")).toEqual(["+ added: TimeoutError: no response", "+ added: at search"]);
    await page.getByText("≠ 2 calls differ · − 2 only in A · + 2 only in B").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);

    // By keys from difference to difference, and only those.
    const current = tree.locator(".tree-body [aria-selected=true]");
    for (const name of ["guard", "search", "http.get", "chat"]) {
      await page.keyboard.press("n");
      await current.getByText(name).waitFor();
    }
    await calls.getByText("Only A has this call.").waitFor();
    await calls.getByRole("group", { name: "output" }).getByText("Friday").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("N");
    await current.getByText("http.get").waitFor();
    await page.keyboard.press("o");
    await tree.getByText("plan").waitFor({ state: "detached" });
    await page.reload();
    await current.getByText("http.get").waitFor();
    expect(await tree.getByText("plan").count()).toBe(0);
    // The other way round.
    await page.keyboard.press("w");
    await current.getByText("only in B").waitFor();
    await page.keyboard.press("h");
    await page.keyboard.press("h");
    await tree.getByText("1 below").waitFor();
    await page.keyboard.press("l");
    await page.keyboard.press("b");
    await page.getByRole("heading", { name: "search", level: 1 }).waitFor();
    await page.goBack();
    await current.getByText("search").waitFor();
    expect(problems).toEqual([]);
  });

  test("the other call is chosen from an open one, of its op or by its address, and a key that may only read does", async () => {
    const projectId = newProject();
    await writeCalls(console_.service, projectId, [...first, ...second]);
    const [entity = ""] = projectId.split("/");
    const visited = await console_.open(`${projectId}/calls/b`, await console_.service.key({ entity, role: "read" }));
    const { page, problems } = visited;
    await page.getByRole("button", { name: "Compare" }).waitFor();
    await page.keyboard.press("=");
    const dialog = page.getByRole("dialog", { name: "Compare with another answer" });
    await dialog.getByRole("row", { name: /success/ }).waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    for (const key of ["j", "k", "Enter"]) await page.keyboard.press(key);
    await page.getByRole("treegrid").getByText("guard").waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ a: "b", b: "a" });
    // A part of a trace with a part of another one.
    await page.goto(`${console_.url}/console/${projectId}/calls/a?span=a-search`);
    await page.getByRole("region", { name: "Call" }).getByRole("heading", { name: "search" }).waitFor();
    await page.keyboard.press("=");
    const other = page.getByRole("dialog", { name: "Compare with another search" });
    await other.getByRole("textbox").fill(`${console_.url}/console/${projectId}/calls/b?span=b-search`);
    await page.keyboard.press("Enter");
    await page.getByText("≠ 1 call differs · − 1 only in A").waitFor();
    expect(problems).toEqual([]);
  });

  test("an address without calls, of one call, of calls that are gone and of none that differ says so", async () => {
    const projectId = newProject();
    const twin = first.map(({ id = "", parent, ...call }) => ({
      ...call,
      id: `${id}2`,
      trace: "t3",
      ...(parent !== undefined && { parent: `${parent}2` }),
    }));
    await writeCalls(console_.service, projectId, [...first, ...twin]);
    const visited = await console_.open(`${projectId}/compare`);
    const { page, problems } = visited;
    await page.getByRole("heading", { name: "No calls are chosen" }).waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    const go = async (search: string) => await page.goto(`${console_.url}/console/${projectId}/compare?${search}`);
    await go("a=a");
    await page.getByRole("heading", { name: "Another call is needed" }).waitFor();
    await go("a=a&b=a");
    await page.getByRole("heading", { name: "A and B are the same call" }).waitFor();
    await go(`a=a&b=${encodeURIComponent('<img src=x onerror="alert(1)">\u202E')}`);
    await page.getByText('<img src=x onerror="alert(1)">⟨202E⟩', { exact: true }).waitFor();
    await go("a=x&b=y");
    await page.getByRole("heading", { name: "There are no such calls" }).waitFor();
    await go("a=a&b=a2&at=nonsense&only=differences");
    await page.getByText("No call differs in status, inputs, output or tokens.").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.getByRole("button", { name: "Show all calls" }).click();
    await page.getByRole("treegrid").getByText("http.get").waitFor();
    // The service does not answer, and does again.
    await page.route("**/trace/outline", async (route) => await route.fulfill({ status: 500, body: "{}" }));
    await go("a=a&b=a-search");
    await page.getByRole("alert").getByText("A trace cannot be read.").waitFor();
    await page.unroute("**/trace/outline");
    // By itself.
    await page.getByRole("treegrid").getByText("http.get").first().waitFor();
    expect(problems).toEqual([]);
  });

  test("hostile names and values are text; on a narrow window the row is below the tree", async () => {
    const projectId = newProject();
    const hostile = "<script>alert(1)</script>\u202E\u001B[31m";
    const values = (of: string) => ({
      inputs: JSON.stringify({ [hostile]: `${of}${hostile}`, long: `${"x".repeat(100_000)}${of}` }),
      output: `{"n":1.0,"n":2,"big":107505301260286111,"of":${JSON.stringify(of)}}`,
    });
    await writeCalls(console_.service, projectId, [
      { id: "a", name: hostile, ms: 5, ...values("a") },
      { id: "a/../1", name: "child", trace: "a", parent: "a", ms: 1 },
      { id: "b", name: hostile, ms: 5, ...values("b") },
      { id: "__proto__", name: "constructor", trace: "b", parent: "b", ms: 1 },
    ]);
    const visited = await console_.open(`${projectId}/compare?a=a&b=b`);
    const { page, problems } = visited;
    await page.setViewportSize({ width: 390, height: 844 });
    const calls = page.getByRole("region", { name: "Calls of the row" });
    await calls.getByRole("heading", { name: "<script>alert(1)</script>⟨202E⟩" }).waitFor();
    // Of a line of a hundred thousand characters the one that differs.
    const marks = calls.getByRole("region", { name: "Changes of inputs" }).locator("mark");
    await expect.poll(async () => await marks.allInnerTexts()).toEqual(["a", "a", "b", "b"]);
    expect(await axeInBothSchemes(visited)).toEqual([]);
    expect(await page.evaluate<boolean>("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    const tree = page.getByRole("treegrid");
    expect(await tree.locator(".tree-body .tree-row").count()).toBe(3);
    expect((await tree.boundingBox())?.height).toBeGreaterThan(90);
    await page.keyboard.press("n");
    await page.keyboard.press("n");
    await expect.poll(() => new URL(page.url()).searchParams.get("at")).toBe("b __proto__");
    await calls.getByText("Only B has this call.").waitFor();
    expect(problems).toEqual([]);
  });

  test("of long traces the rows in the window are rendered, and payloads are read where the reader is", async () => {
    const projectId = newProject();
    const trace = (id: string, other: number): NewCall[] => [
      { id, name: "index", ms: 9000 },
      ...Array.from({ length: 4000 }, (_, index) => ({
        id: `${id}${index}`,
        name: index % 7 === 0 ? "chunk" : `embed ${index % 3}`,
        trace: id,
        parent: id,
        at: index,
        ms: 1,
        output: String(index === other ? -1 : index),
      })),
    ];
    await writeCalls(console_.service, projectId, trace("a", -1));
    await writeCalls(console_.service, projectId, trace("b", 3500));
    const { page, problems } = await console_.open(`${projectId}/calls`);
    await page.getByRole("grid", { name: "Calls" }).waitFor();
    const [outlines, read] = [new Set<string>(), new Set<string>()];
    page.on("request", (request) => {
      const body = (request.postDataJSON() ?? {}) as { trace_id?: string; id?: string };
      if (request.url().endsWith("/trace/outline")) outlines.add(body.trace_id ?? "");
      if (request.url().endsWith("/call/read")) read.add(body.id ?? "");
    });
    await page.goto(`${console_.url}/console/${projectId}/compare?a=a&b=b`);
    const tree = page.getByRole("treegrid");
    await page.getByText("≠ 1 call differs").waitFor();
    expect(await tree.getAttribute("aria-rowcount")).toBe("4002");
    await page.keyboard.press("n");
    await expect.poll(() => new URL(page.url()).searchParams.get("at")).toBe("a a3500");
    await tree.locator(".tree-body [aria-selected=true]").getByText("≠ output").waitFor();
    expect(await tree.locator(".tree-body .tree-row").count()).toBeLessThanOrEqual(60);
    await page.getByRole("region", { name: "Changes of output" }).getByText("-1").waitFor();
    expect([[...outlines], [...read]].map((ids) => ids.toSorted())).toEqual([
      ["a", "b"],
      ["a", "a3500", "b", "b3500"],
    ]);
    expect(problems).toEqual([]);
  });
});
