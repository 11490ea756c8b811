// Measures the console of a running service in Chromium: first paint and rows, frames and blank rows while tables and traces
// scroll, also while calls are ingested, keys, an item of a queue after the other, heap. Its numbers are those of a quiet machine.
// Needs Chromium, and a project with many calls (`HEDDLE_PROJECT`, by default one that is filled with 20,000), and writes traces
// of 32,843 calls, evaluation runs of 10,000 rows and a queue.
// Run: pnpm build, then HEDDLE_API_KEY=… pnpm frames http://127.0.0.1:4680 [calls|trace|compared|evaluations|queue]…
import { createTracingClient } from "@heddle/client";
import { chromium } from "playwright-core";
import { fillQueue } from "./fill-queue.js";
import { fillRuns } from "./fill-runs.js";
import { fill, fillWide, ingest } from "./fill.js";
import { emptyFrames, held, keyTimes, open, scroll, watch } from "./measures.js";
import type { Opening } from "./measures.js";

const service = (process.argv[2] ?? "http://127.0.0.1:4680").replace(/\/$/, "");
const chosen = new Set(process.argv.slice(3));
const apiKey = process.env["HEDDLE_API_KEY"] ?? "";
/** How often each screen is opened, and how many calls a second are ingested meanwhile. */
const [openings, rate] = [Number(process.env["OPENINGS"] ?? 5), Number(process.env["RATE"] ?? 1000)];
const client = createTracingClient({ baseUrl: service, apiKey });
const { entity } = await client.meRead();
const names = { table: process.env["HEDDLE_PROJECT"] ?? `${entity}/frames-calls`, trace: `${entity}/frames-trace` };
const [evaluations, annotated] = [`${entity}/frames-runs`, `${entity}/frames-queue`];
const counts = new Map(
  (await client.projectsQuery({})).projects.map((project) => [project.project_id, project.call_count]),
);
const is = (part: string) => chosen.size === 0 || chosen.has(part);

const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
page.setDefaultTimeout(120_000);
await watch(page);
await page.goto(`${service}/console/`);
await page.getByLabel("API key").fill(apiKey);
await page.keyboard.press("Enter");
await page.locator(".projects, .first-trace").first().waitFor();

const [grid, tree] = [
  { selector: ".grid", row: ".grid-row", rowHeight: 28 },
  { selector: ".tree", row: ".tree-row", rowHeight: 24 },
];
const ms = (value: number) => `${value.toFixed(0)} ms`;
const share = (value: number) => `${(100 * value).toFixed(1)} %`;

async function opened(what: string, path: string, selector: string): Promise<void> {
  // The first fills the caches of the browser and of the service.
  await open(page, `${service}/console/${path}`, selector);
  const all: Opening[] = [];
  for (let count = 0; count < openings; count++) all.push(await open(page, `${service}/console/${path}`, selector));
  const of = (part: keyof Opening) => {
    const values = all.map((one) => one[part]).toSorted((a, b) => a - b);
    return `${ms(values[values.length >> 1] ?? 0)} (at most ${ms(values.at(-1) ?? 0)})`;
  };
  console.log(`${what}: first paint ${of("paint")}, first rows ${of("rows")}, longest task ${of("blocked")}`);
}

async function scrolled(of: typeof grid, rows: number, what = ""): Promise<void> {
  const empty = await emptyFrames(page, rows * of.rowHeight);
  await page.evaluate(`document.querySelector("${of.selector}").scrollTop = 0`);
  const { p50, p95, blank, held: waited } = await scroll(page, { ...of, rows });
  console.log(
    `  ${rows} rows a frame${what}: p50 ${ms(p50)}, p95 ${ms(p95)}, blank rows ${share(blank)}, waited ${share(waited)}; an empty page: p50 ${ms(empty.p50)}, p95 ${ms(empty.p95)}`,
  );
}

async function heapOf(): Promise<void> {
  const { heap, rows } = await held(page);
  console.log(`  heap ${heap.toFixed(0)} MB, ${rows} row elements`);
}

async function keys(...pressed: string[]): Promise<void> {
  for (const key of pressed) {
    const { p50, p95 } = await keyTimes(page, key, 40);
    console.log(`  ${key}: p50 ${ms(p50)}, p95 ${ms(p95)}`);
  }
}

if (is("calls")) {
  if (!counts.has(names.table)) await fill(client, names.table, 20_000);
  await opened(
    `${counts.get(names.table) ?? 20_000} calls`,
    `${names.table}/calls`,
    ".grid-body .grid-row .cell:not(:empty)",
  );
  for (const rows of [1, 10, 200]) await scrolled(grid, rows);
  await page.keyboard.press("g");
  await page.keyboard.press("g");
  await keys("j", "k");
  await heapOf();
  const ingested = ingest(client, names.table, rate);
  await opened(`  with ${rate} calls a second`, `${names.table}/calls`, ".grid-body .grid-row .cell:not(:empty)");
  for (const rows of [1, 10]) await scrolled(grid, rows, ` with ${rate} calls a second`);
  console.log(`  ${(await ingested.stop()).toFixed(0)} calls a second were ingested`);
}
if (is("trace") || is("compared")) {
  if (!counts.has(names.trace)) {
    await fillWide(client, names.trace, 32_842);
    // As many, each a millisecond later, so that every row differs.
    await fillWide(client, names.trace, 32_842, Date.now() + 1, "other");
  }
}
if (is("trace")) {
  await opened("trace of 32,843 calls", `${names.trace}/calls/wide-root`, ".tree-body .tree-row");
  for (const rows of [1, 10]) await scrolled(tree, rows);
  await keys("j", "k");
  await heapOf();
}
if (is("compared")) {
  await opened("two traces of 32,843 calls", `${names.trace}/compare?a=wide-root&b=other-root`, ".tree-body .tree-row");
  for (const rows of [1, 10]) await scrolled(tree, rows);
  await heapOf();
}
if (is("evaluations")) {
  const runs = counts.has(evaluations)
    ? []
    : await fillRuns(client, evaluations, ["first", "second", "third", "fourth"], 10_000);
  if (runs.length === 0) {
    const [, project = ""] = evaluations.split("/");
    for await (const { evaluation_run_id: id } of client.evaluationRunList({ entity, project })) runs.push(id);
  }
  const [base = "", ...others] = runs;
  const compared = `${evaluations}/evaluations?base=${base}&vs=${others.slice(0, 3).join(",")}`;
  await opened("10,000 rows in four runs", compared, ".grid-body .grid-row .cell:not(:empty)");
  for (const rows of [1, 10]) await scrolled(grid, rows);
  await keys("j", "k");
  await heapOf();
}
if (is("queue")) {
  const queue = await fillQueue(client, annotated, 100);
  await opened("an item of a queue", `${annotated}/queues/${queue}`, ".queue-values");
  // Somebody who decides three times a second, and one who does not read.
  for (const [what, pause] of [
    ["three a second", 330],
    ["as fast as keys are pressed", 0],
  ] as const) {
    const times: number[] = [];
    for (let item = 0; item < 40; item++) {
      await page.waitForTimeout(pause);
      await page.keyboard.press("1");
      // From the key to the paint with the values of the next item.
      await page.evaluate(`{
        const before = document.querySelector(".queue-values").textContent;
        window.nextItem = new Promise((resolve) => addEventListener("keydown", ({ timeStamp, key }) => {
          if (key !== "Enter") return;
          const look = () => requestAnimationFrame(() => {
            const now = document.querySelector(".queue-values")?.textContent;
            if (now === undefined || now === before) look();
            else resolve(performance.now() - timeStamp);
          });
          look();
        }, { capture: true }));
        undefined;
      }`);
      await page.keyboard.press("Control+Enter");
      times.push(await page.evaluate<number>("window.nextItem"));
    }
    times.sort((a, b) => a - b);
    console.log(
      `  save and next, ${what}: p50 ${ms(times[20] ?? 0)}, p95 ${ms(times[38] ?? 0)}, at most ${ms(times[39] ?? 0)}`,
    );
  }
}
await browser.close();
