import { describe, expect, test } from "vitest";
import { runProgram } from "../../clients/run-program.js";
import { newProject } from "../../test-service.js";
import { chromiumPath, pressTogether } from "../browser.js";
import { axeInBothSchemes, openConsole } from "../open-console.js";
import { writeRun } from "./write-run.js";
import type { Row } from "./write-run.js";

const hostile = `<img src=x onerror="document.title='run'">\u202Etxet\u001B[31m`;

describe.skipIf(chromiumPath === undefined)("a comparison of evaluation runs in the console", () => {
  const console_ = openConsole();

  test("finds the row that got worse and why the judge said so, by keys alone", { timeout: 480_000 }, async () => {
    const projectId = newProject();
    const row = (n: number, output: string, correct: unknown, reason = "fine"): Row => ({
      inputs: { question: `Question ${n}: why is order ${n} late?`, expected: `After ${n} days\nit arrives.` },
      output,
      scores: { judge: { correct, reason }, [hostile]: n / 10 },
    });
    const right = Array.from({ length: 30 }, (_, n) => row(n, `After ${n} days\nit arrives.`, true));
    await writeRun(console_.service, projectId, { model: "old", rows: right });
    await writeRun(console_.service, projectId, {
      model: "new",
      rows: right.map((of, n) => {
        if (n === 17) return row(n, "After 3 weeks\nit arrives.", false, `weeks are not days ${hostile}`);
        // Its scorer failed.
        return n === 20 ? { ...of, scores: {} } : of;
      }),
    });
    await writeRun(console_.service, projectId, { model: "empty", rows: [] });
    const visited = await console_.open(`${projectId}/evaluations`);
    const { page, problems } = visited;
    await page.getByText("3 runs").waitFor();
    const grid = page.getByRole("grid");
    await grid.focus();
    // The newest run is first: from the oldest on, which becomes the base run.
    await page.keyboard.press("G");
    await page.keyboard.press("x");
    await page.getByText("Choose another one to compare it with.").waitFor();
    await page.keyboard.press("k");
    await page.keyboard.press("x");
    await page.getByText("2 chosen").waitFor();
    await page.keyboard.press("=");
    await page.getByRole("status").getByText("30 rows", { exact: true }).waitFor();
    const scores = page.getByRole("region", { name: "Scores" });
    await scores.getByText("1 fail anew, 0 pass anew · 1 row without a score").waitFor();
    const first = page.locator(".grid-body [aria-selected=true]");
    await first.getByText("Question 17").waitFor();
    await first.getByText("▼−1").waitFor();
    await first.getByText("After 3 weeks").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("Enter");
    const details = page.getByRole("region", { name: "Row", exact: true });
    await details.getByText("row 1 of 30").waitFor();
    await details.getByText("weeks are not days").waitFor();
    await details.getByText("expected → output of B").waitFor();
    await details.locator(".diff .is-removed").getByText("17 days").waitFor();
    await details.locator(".diff .is-added").getByText("3 weeks").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("d");
    await details.getByText("output of A → output of B").waitFor();
    await page.keyboard.press("h");
    await details.getByText("no change in 2 lines").waitFor();
    await page.keyboard.press("l");
    await page.keyboard.press("w");
    await page.getByText("1 row", { exact: true }).waitFor();
    await page.reload();
    // The address says all of it.
    await details.getByText("row 1 of 1").waitFor();
    await details.getByText("output of A → output of B").waitFor();
    await details.getByText("weeks are not days").waitFor();
    await page.keyboard.press("e");
    await page.getByRole("heading", { name: /judge/, level: 1 }).waitFor();
    await page.goBack();
    await details.getByText("row 1 of 1").waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    await details.getByText("weeks are not days").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("Escape");
    await first.getByText("Question 17").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.keyboard.press("i");
    await page.getByText("No row is left by “only regressions”.").waitFor();
    await page.keyboard.press("w");
    await page.getByRole("status").getByText("30 rows", { exact: true }).waitFor();
    await page.keyboard.press("b");
    await scores.getByText("0 fail anew, 1 pass anew").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("3 runs").waitFor();
    // What was chosen stays so.
    await page.getByText("2 chosen").waitFor();
    await grid.focus();
    await pressTogether(page, "g", "g");
    await page.keyboard.press("x");
    await page.keyboard.press("=");
    await page.getByText("⚠ run C has no results").waitFor();
    expect(await page.title()).not.toBe("run");
    expect(problems).toEqual([]);
  });

  test("compares runs that the weave SDK made, trials and failed models included", { timeout: 240_000 }, async () => {
    const projectId = newProject();
    const program = new URL("../../clients/evaluation-program.ts", import.meta.url);
    const { service, url } = console_;
    await runProgram(program, { url, key: service.owner_key, args: [projectId], start: '{"summary"' });
    const visited = await console_.open(`${projectId}/evaluations`);
    const { page, problems } = visited;
    await page.getByText("2 runs").waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("G");
    await page.keyboard.press("x");
    await page.keyboard.press("k");
    await page.keyboard.press("x");
    await page.keyboard.press("=");
    await page.getByRole("status").getByText("3 rows", { exact: true }).waitFor();
    await page.getByText("3 rows, 6 trials").waitFor();
    await page.getByRole("button", { name: "graded.isShort" }).click();
    await page.getByRole("button", { name: "exact", exact: true }).click();
    await page.locator(".grid-body .grid-row").getByText("2+2?").waitFor();
    await page.locator(".grid-body .grid-row").getByText("no score").first().waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("a run that is not there is named, and runs without numbers say so", { timeout: 120_000 }, async () => {
    const projectId = newProject();
    const texts: Row[] = [{ inputs: { n: 1 }, output: "x", scores: { tone: "kind" } }];
    const id = await writeRun(console_.service, projectId, { rows: texts });
    const other = await writeRun(console_.service, projectId, { rows: texts });
    const missing = await console_.open(`${projectId}/evaluations?base=${id}&vs=gone`);
    await missing.page.getByText("there is no evaluation run gone").waitFor();
    expect(await axeInBothSchemes(missing)).toEqual([]);
    const visited = await console_.open(`${projectId}/evaluations?base=${id}&vs=${other}`);
    await visited.page.getByText("texts, no numbers").first().waitFor();
    await visited.page.getByRole("status").getByText("1 row", { exact: true }).waitFor();
    expect(visited.problems).toEqual([]);
  });

  test(
    "of twenty thousand rows that all failed, each says so, and none counts as 0",
    { timeout: 240_000 },
    async () => {
      const projectId = newProject();
      const [entity = "", project = ""] = projectId.split("/");
      const ref = (kind: string, name: string) => `weave:///${projectId}/${kind}/${name}:x1`;
      const at = new Date().toISOString();
      const call = (id: string, op: string, more: object) => ({
        project_id: projectId,
        id,
        trace_id: "failed",
        op_name: ref("op", op),
        started_at: at,
        ended_at: at,
        attributes: {},
        inputs: {},
        output: null,
        summary: {},
        ...more,
      });
      const of = { self: ref("object", "exam"), model: ref("object", "broken") };
      const calls = [call("failed", "Evaluation.evaluate", { inputs: of })];
      for (let n = 0; n < 20_500; n++) {
        const inputs = { ...of, example: { question: `Question ${n}` } };
        const output = n % 2 === 0 ? null : { output: null, scores: {}, model_latency: 0.1 };
        const exception = n % 2 === 0 ? `ValueError: ${hostile}` : undefined;
        calls.push(call(`f${n}`, "Evaluation.predict_and_score", { parent_id: "failed", inputs, output, exception }));
      }
      for (let from = 0; from < calls.length; from += 2500)
        await console_.service.tracing().callsComplete({ entity, project, batch: calls.slice(from, from + 2500) });
      const visited = await console_.open(`${projectId}/evaluations`);
      const { page, problems } = visited;
      await page.locator(".grid-body .grid-row").getByText("no scores").waitFor();
      await page.keyboard.press("r");
      await page.getByRole("status").getByText("20,500 rows", { exact: true }).waitFor();
      await page.locator(".grid-body .grid-row").getByText("no score").first().waitFor();
      // As by the scroll bar: rows between were never read.
      await page.evaluate("document.querySelector('.grid').scrollTop = 1e9");
      await page
        .locator("[aria-rowindex='20501']")
        .getByText(/Question \d+/)
        .waitFor();
      await page.getByRole("grid").focus();
      await page.keyboard.press("G");
      await page
        .locator(".grid-body [aria-selected=true]")
        .getByText(/Question \d+/)
        .waitFor();
      await page.keyboard.press("Enter");
      await page.getByText("row 20,500 of 20,500").waitFor();
      expect(await axeInBothSchemes(visited)).toEqual([]);
      expect(await page.title()).not.toBe("run");
      expect(problems).toEqual([]);
    },
  );

  test("scores of mixed kinds are compared by their numbers, which is said", { timeout: 120_000 }, async () => {
    const projectId = newProject();
    const rowsOf = (values: unknown[]) =>
      values.map((value, n): Row => ({ inputs: { n }, output: "x", scores: { odd: { value } } }));
    const base = await writeRun(console_.service, projectId, { rows: rowsOf([true, false, 1, "NaN", null, [1]]) });
    const other = await writeRun(console_.service, projectId, { rows: rowsOf([0.25, true, "yes", 1e300, {}, -1]) });
    const visited = await console_.open(`${projectId}/evaluations?base=${base}&vs=${other}`);
    const { page, problems } = visited;
    await page.getByText("⚠ scores.odd.value has booleans and numbers: true counts as 1 and false as 0").waitFor();
    await page.getByRole("status").getByText("6 rows", { exact: true }).waitFor();
    await page.locator(".grid-body [aria-selected=true]").getByText("▼−0.75").waitFor();
    await page.getByRole("region", { name: "Scores" }).getByText("3 rows without a score").first().waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("too many trials and a service that is away are said, and read again", { timeout: 240_000 }, async () => {
    const projectId = newProject();
    const rows: Row[] = [{ inputs: { n: 1 }, output: "x", scores: { exact: true } }];
    const base = await writeRun(console_.service, projectId, { rows });
    const other = await writeRun(console_.service, projectId, { rows });
    const visited = await console_.open(`${projectId}/evaluations`);
    const { page, problems } = visited;
    await page.getByText("2 runs").waitFor();
    await page.route("**/eval_results/compare", async (route) => {
      const body = `{"reason":"the runs have more than 200000 trials; compare fewer ${hostile.replaceAll('"', "'")}"}`;
      await route.fulfill({ status: 413, contentType: "application/json", body: body.replaceAll("\u001B", "") });
    });
    await page.goto(`${console_.url}/console/${projectId}/evaluations?base=${base}&vs=${other}`);
    await page.getByText("The runs cannot be compared.").waitFor();
    await page.getByText("the runs have more than 200000 trials; compare fewer").waitFor();
    await page.getByText("status 413").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.unroute("**/eval_results/compare");
    // While it is read again the message and the button stay where they are.
    const held: (() => Promise<void>)[] = [];
    await page.route("**/eval_results/compare", (route) => void held.push(async () => await route.continue()));
    await page.getByRole("button", { name: "Try again" }).click();
    await expect.poll(() => held.length, { timeout: 60_000 }).toBe(1);
    const busy = page.getByRole("button", { name: "Trying again…" });
    await busy.waitFor();
    // It keeps the focus, and another press does not begin another try.
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Trying again…");
    await page.keyboard.press("Enter");
    await page.getByText("The runs cannot be compared.").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await held[0]?.();
    await page.getByRole("status").getByText("1 row", { exact: true }).waitFor();
    expect(held.length).toBe(1);
    await page.unroute("**/eval_results/compare");
    // Where the service is away, the page asks by itself and goes on without a key.
    await page.route("**/eval_results/compare", async (route) => await route.abort());
    await page.reload();
    await page.getByText("The service does not respond.", { exact: true }).waitFor();
    await page.unroute("**/eval_results/compare");
    await page.getByRole("status").getByText("1 row", { exact: true }).waitFor();
    expect(await page.title()).not.toBe("run");
    expect(problems).toEqual([]);
  });
});
