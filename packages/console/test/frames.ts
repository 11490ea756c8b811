// Measures the console of a running service in Chromium: first rows, frames and blank rows while a table and a trace scroll,
// two traces and four evaluation runs compared, keys, heap. Its numbers are those of a quiet machine. Needs Chromium, and a project with many calls (`HEDDLE_PROJECT`, by
// default one that is filled with 20,000), and writes a trace of 32,843 calls.
// Run: pnpm build, then HEDDLE_API_KEY=… pnpm frames http://127.0.0.1:4680
import { createTracingClient } from "@heddle/client";
import { chromium } from "playwright-core";
import type { Page } from "playwright-core";
import { fillRuns } from "./fill-runs.js";
import { fill, fillWide } from "./fill.js";

const service = (process.argv[2] ?? "http://127.0.0.1:4680").replace(/\/$/, "");
const apiKey = process.env["HEDDLE_API_KEY"] ?? "";
const client = createTracingClient({ baseUrl: service, apiKey });
const { entity } = await client.meRead();
const table = process.env["HEDDLE_PROJECT"] ?? `${entity}/frames-calls`;
const trace = `${entity}/frames-trace`;
const counts = new Map(
  (await client.projectsQuery({})).projects.map((project) => [project.project_id, project.call_count]),
);
if (!counts.has(table)) await fill(client, table, 20_000);
if (!counts.has(trace)) {
  await fillWide(client, trace, 32_842);
  // As many, each a millisecond later, so that every row differs.
  await fillWide(client, trace, 32_842, Date.now() + 1, "other");
}
const evaluations = `${entity}/frames-runs`;
const runs = counts.has(evaluations)
  ? []
  : await fillRuns(client, evaluations, ["first", "second", "third", "fourth"], 10_000);
if (runs.length === 0) {
  const [, project = ""] = evaluations.split("/");
  for await (const { evaluation_run_id: id } of client.evaluationRunList({ entity, project })) runs.push(id);
}

/** In the page: scrolls an element and looks at each frame how many of the rows that should be seen are there. */
const scrollFrames = `async ([selector, row, step, frames]) => {
  const element = document.querySelector(selector);
  const deltas = [];
  let [seen, blank, before] = [0, 0, performance.now()];
  for (let frame = 0; frame < frames; frame++) {
    element.scrollTop += step;
    const now = await new Promise(requestAnimationFrame);
    deltas.push(now - before);
    before = now;
    const { top, bottom } = element.getBoundingClientRect();
    for (let y = top + 40; y < bottom - 8; y += 28) {
      seen++;
      if (document.elementFromPoint(200, y)?.closest(row)?.textContent === undefined) blank++;
    }
  }
  deltas.sort((a, b) => a - b);
  return { p50: deltas[frames >> 1], p95: deltas[Math.floor(frames * 0.95)], blank: blank / seen };
}`;

interface Frames {
  p50: number;
  p95: number;
  blank: number;
}

const scroll = async (page: Page, selector: string, row: string, rowHeight: number, rows: number): Promise<string> => {
  const step = rows * rowHeight;
  const { p50, p95, blank } = await page.evaluate<Frames>(
    `(${scrollFrames})(${JSON.stringify([selector, row, step, 120])})`,
  );
  return `frames p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, blank rows ${(100 * blank).toFixed(1)} %`;
};

async function opened(page: Page, path: string, selector: string): Promise<number> {
  const begun = performance.now();
  await page.goto(`${service}/console/${path}`);
  await page.locator(selector).first().waitFor();
  return performance.now() - begun;
}

const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await page.goto(`${service}/console/`);
await page.getByLabel("API key").fill(apiKey);
await page.keyboard.press("Enter");
await page.locator(".projects").waitFor();
await opened(page, `${table}/calls`, ".grid-body .grid-row");
console.log(
  `calls, ${counts.get(table) ?? 20_000}: first rows ${(await opened(page, `${table}/calls`, ".grid-body .grid-row")).toFixed(0)} ms`,
);
for (const rows of [1, 10])
  console.log(`  ${rows} rows a frame: ${await scroll(page, ".grid", ".grid-row", 28, rows)}`);
await page.keyboard.press("g");
await page.keyboard.press("g");
const keys = performance.now();
for (let step = 0; step < 50; step++) await page.keyboard.press("j");
console.log(`  j: ${((performance.now() - keys) / 50).toFixed(0)} ms`);
console.log(
  `trace of 32,843: first rows ${(await opened(page, `${trace}/calls/wide-root`, ".tree-body .tree-row")).toFixed(0)} ms`,
);
console.log(`  10 rows a frame: ${await scroll(page, ".tree", ".tree-row", 24, 10)}`);
console.log(
  `two traces of 32,843: first rows ${(await opened(page, `${trace}/compare?a=wide-root&b=other-root`, ".tree-body .tree-row")).toFixed(0)} ms`,
);
for (const rows of [1, 10])
  console.log(`  ${rows} rows a frame: ${await scroll(page, ".tree", ".tree-row", 24, rows)}`);
const [base = "", ...others] = runs;
const compared = `${evaluations}/evaluations?base=${base}&vs=${others.slice(0, 3).join(",")}`;
console.log(
  `10,000 rows in four runs: first rows ${(await opened(page, compared, ".grid-body .grid-row")).toFixed(0)} ms`,
);
for (const rows of [1, 10])
  console.log(`  ${rows} rows a frame: ${await scroll(page, ".grid", ".grid-row", 28, rows)}`);
await page.setViewportSize({ width: 390, height: 800 });
const cells = await page.locator(".grid-body .grid-row:not(.is-current) .cell:not(:empty)").count();
console.log(
  `  at 390 pixels: ${cells} cells with something in them of ${await page.locator(".grid-body .cell").count()}`,
);
await page.setViewportSize({ width: 1440, height: 900 });
const heap = await page.evaluate<number>("performance.memory.usedJSHeapSize");
console.log(`  heap ${(heap / 1e6).toFixed(0)} MB, ${await page.locator("[role=row]").count()} row elements`);
await browser.close();
