import { describe, expect, test } from "vitest";
import { newProject } from "../test-service.js";
import { chromiumPath } from "./browser.js";
import { openConsole } from "./open-console.js";
import { writeCalls } from "./write-calls.js";

/** Calls that are there, and those that come while the table is read. */
const [old, fresh] = [600, 1600];

const named = (what: string, from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `${what} ${from + index}`, at: from + index, ms: 1 }));

/** Rows that can be seen, by their places: their names, and undefined where one says nothing. */
const seen = `[...document.querySelectorAll(".grid-body [role=row]")]
  .filter((row) => {
    const [{ top, bottom }, grid] = [row.getBoundingClientRect(), row.closest(".grid").getBoundingClientRect()];
    return top >= grid.top && bottom <= grid.bottom;
  })
  .map((row) => [row.ariaRowIndex - 2, /(?:old|new) \\d+/.exec(row.textContent)?.[0]])`;

/** Scrolls down to the end, and reads each row once it is there. */
const readAll = (count: number) => `(async () => {
  const grid = document.querySelector(".grid");
  const names = [];
  for (let frame = 0; frame < 5000 && names.length < ${count}; frame++) {
    await new Promise(requestAnimationFrame);
    for (const [place, name] of ${seen}) if (place === names.length && name !== undefined) names.push(name);
    grid.scrollTop = Math.max(0, names.length - 3) * 28;
  }
  return names;
})()`;

describe.skipIf(chromiumPath === undefined)("the table of calls", { timeout: 240_000 }, () => {
  const tested = openConsole();
  const patient = { timeout: 60_000 };

  test("is scrolled while 1,600 spans come: no row is blank or moves, and at the top again none is missing", async () => {
    const projectId = newProject();
    await writeCalls(tested.service, projectId, named("old", 0, old), { since: -600_000 });
    const { page, problems } = await tested.open(`${projectId}/calls`);
    const current = page.locator(".grid-body [aria-selected=true]");
    await current.getByText(`old ${old - 1}`).waitFor();
    const nameAt = (place: number) => `old ${old - 1 - place}`;
    const perRound = 100;
    for (let round = 0; round < fresh / perRound; round++) {
      await writeCalls(tested.service, projectId, named("new", round * perRound, perRound), { since: -60_000 });
      await page.evaluate(`document.querySelector(".grid").scrollTop += 20 * 28`);
      await expect
        .poll(async () => await page.evaluate<[number, string?][]>(seen), patient)
        .toSatisfy(
          (rows: [number, string?][]) => rows.length > 10 && rows.every(([place, name]) => name === nameAt(place)),
        );
    }
    // The cursor has not moved either.
    await current.getByText(`old ${old - 1}`).waitFor();
    await page.getByRole("button", { name: / new ↑/ }).click();
    await current.getByText(`new ${fresh - 1}`, { exact: true }).waitFor();
    const newestFirst = [...named("old", 0, old), ...named("new", 0, fresh)].map(({ name }) => name).toReversed();
    expect(await page.evaluate(readAll(old + fresh))).toEqual(newestFirst);
    expect(problems).toEqual([]);
  });

  test("stays where it is scrolled to while earlier pages are read above it, wherever the cursor is", async () => {
    const projectId = newProject();
    const since = Date.now() - 120_000;
    const apart = named("old", 0, 1500).map((call) => ({ ...call, at: 40 * call.at }));
    await writeCalls(tested.service, projectId, apart, { since: -120_000 });
    const begin = new Date(since + 40 * 300).toISOString();
    const { page, problems } = await tested.open(`${projectId}/calls?t=${encodeURIComponent(begin)}`);
    const current = page.locator(".grid-body [aria-selected=true]");
    const placeOfCurrent = async () => Number(await current.getAttribute("aria-rowindex"));
    const numberIn = (text = "") => Number(/old (\d+)/.exec(text)?.[1]);
    // Four pages are read ahead.
    await expect.poll(placeOfCurrent, patient).toBe(802);
    await page.evaluate(`document.querySelector(".grid").scrollTop = 300 * 28`);
    await expect.poll(placeOfCurrent, patient).toBeGreaterThan(802);
    const under = numberIn(await current.innerText());
    const top = async () => numberIn((await page.evaluate<[number, string?][]>(seen))[0]?.[1]);
    await expect.poll(top, patient).toBeGreaterThan(under + 450);
    expect(problems).toEqual([]);
  });

  test("waits while the service has too much to do, and goes on by itself, as others do", async () => {
    const projectId = newProject();
    await writeCalls(tested.service, projectId, [{ id: "t", name: "answer", ms: 1, thread: "talk", turn: "t" }]);
    const { page, problems } = await tested.open("");
    await page.locator(".projects").waitFor();
    for (const [screen, said, there] of [
      ["calls", "The calls cannot be read.", "answer"],
      ["threads", "The threads cannot be read.", "talk"],
    ] as const) {
      let refused = 0;
      const isRead = ({ pathname }: URL) => /\/(?:calls\/page|threads\/)/.test(pathname);
      await page.route(isRead, async (route) => {
        refused++;
        await route.fulfill({ status: 503, headers: { "retry-after": "0" }, json: { reason: "too much to do" } });
      });
      await page.goto(`${tested.url}/console/${projectId}/${screen}`);
      await page.getByText(said).first().waitFor();
      // The client repeats a request twice, and the page what failed.
      await expect.poll(() => refused, patient).toBeGreaterThan(5);
      await page.getByText("status 503").first().waitFor();
      await page.unroute(isRead);
      await page.locator(".grid-body").getByText(there).first().waitFor();
      expect(await page.getByText(said).count()).toBe(0);
    }
    expect(problems).toEqual([]);
  });
});
