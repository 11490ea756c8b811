// What a page of the console is measured by, in the page itself: from outside, the way there and back would be measured, too.
import type { Page } from "playwright-core";

/** Notes when the first element that matches is painted, and how long keys take to the next paint. */
export async function watch(page: Page): Promise<void> {
  await page.addInitScript(`(() => {
    window.firsts = new Map();
    window.keys = [];
    new PerformanceObserver((list) => {
      for (const { name, duration, interactionId } of list.getEntries()) if (name === "keydown") window.keys.push(duration);
    }).observe({ type: "event", durationThreshold: 16 });
    window.firstOf = (selector) => new Promise((resolve) => {
      const look = () => (document.querySelector(selector) === null ? requestAnimationFrame(look) : requestAnimationFrame(() => resolve(performance.now())));
      look();
    });
  })()`);
}

export interface Opening {
  /** Milliseconds since the address was entered. */
  paint: number;
  rows: number;
  /** What kept the page from answering, the longest piece. */
  blocked: number;
}

/** Opens an address as somebody does who enters it: all scripts run anew. */
export async function open(page: Page, address: string, selector: string): Promise<Opening> {
  await page.goto(address, { waitUntil: "commit" });
  return await page.evaluate<Opening>(`(async () => {
    let blocked = 0;
    new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) blocked = Math.max(blocked, duration); })
      .observe({ type: "longtask", buffered: true });
    const rows = await window.firstOf(${JSON.stringify(selector)});
    const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN;
    return { paint, rows, blocked };
  })()`);
}

export interface Frames {
  p50: number;
  p95: number;
  /** The share of places where a row should be seen, and is not or says nothing yet. */
  blank: number;
  /** The share of frames that could not scroll on, since what follows was not there. */
  held: number;
}

interface Scroll {
  selector: string;
  row: string;
  rowHeight: number;
  /** At each frame. */
  rows: number;
  frames?: number;
}

/** Scrolls an element and looks at each frame how many of the rows that should be seen are there, and say something. */
export const scroll = async (page: Page, { frames = 120, ...given }: Scroll): Promise<Frames> =>
  await page.evaluate<Frames>(`(async ({ selector, row, rowHeight, rows, frames }) => {
    const element = document.querySelector(selector);
    const deltas = [];
    let [seen, blank, held, before] = [0, 0, 0, performance.now()];
    for (let frame = 0; frame < frames; frame++) {
      const from = element.scrollTop;
      element.scrollTop += rows * rowHeight;
      if (element.scrollTop - from < rows * rowHeight - 1) held++;
      const now = await new Promise(requestAnimationFrame);
      deltas.push(now - before);
      before = now;
      const { top, bottom } = element.getBoundingClientRect();
      for (let y = top + 40; y < bottom - rowHeight; y += rowHeight) {
        seen++;
        const found = document.elementFromPoint(200, y)?.closest(row);
        if (!found || found.textContent.trim() === "") blank++;
      }
    }
    deltas.sort((a, b) => a - b);
    return { p50: deltas[frames >> 1], p95: deltas[Math.floor(frames * 0.95)], blank: blank / seen, held: held / frames };
  })(${JSON.stringify({ ...given, frames })})`);

/** The frames of an element of the same size without anything in it, scrolled as far: what the browser and the machine take by themselves. */
export const emptyFrames = async (page: Page, pixels: number): Promise<Pick<Frames, "p50" | "p95">> =>
  await page.evaluate<Frames>(`(async () => {
    const [element, inside] = [document.createElement("div"), document.createElement("div")];
    Object.assign(element.style, { position: "fixed", inset: "0", overflow: "auto", background: "white", zIndex: "99" });
    inside.style.height = "10000000px";
    element.append(inside);
    document.body.append(element);
    const deltas = [];
    let before = performance.now();
    for (let frame = 0; frame < 120; frame++) {
      element.scrollTop += ${pixels};
      const now = await new Promise(requestAnimationFrame);
      deltas.push(now - before);
      before = now;
    }
    element.remove();
    deltas.sort((a, b) => a - b);
    return { p50: deltas[60], p95: deltas[114] };
  })()`);

/** Presses a key again and again, each when the page has answered the one before; milliseconds to the paint that follows, at most. */
export async function keyTimes(page: Page, key: string, count: number): Promise<{ p50: number; p95: number }> {
  await page.evaluate("window.keys.length = 0");
  for (let step = 0; step < count; step++) {
    await page.keyboard.press(key);
    await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
  }
  // Those that are not reported took less than a frame.
  const reported = (await page.evaluate<number[]>("window.keys")).toSorted((a, b) => a - b);
  const all = [...Array.from({ length: Math.max(0, count - reported.length) }, () => 16), ...reported];
  return { p50: all[all.length >> 1] ?? 0, p95: all[Math.floor(all.length * 0.95)] ?? 0 };
}

/** Megabytes that the page holds once what it no longer needs is gone, and how many elements are rows. */
export async function held(page: Page): Promise<{ heap: number; rows: number }> {
  const devTools = await page.context().newCDPSession(page);
  await devTools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devTools.send("Runtime.getHeapUsage");
  await devTools.detach();
  return { heap: usedSize / 1e6, rows: await page.locator("[role=row]").count() };
}
