import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Page } from "playwright-core";

export interface WalkOptions {
  apiKey: string;
  isPhone: boolean;
  /** Where screenshots go. */
  pictures: string;
}

/** Uses search, tabs, theme, copying and the try-it form by keyboard alone. Returns what did not work. */
export async function walkByKeyboard(page: Page, { apiKey, isPhone, pictures }: WalkOptions): Promise<string[]> {
  const failed: string[] = [];
  const width = isPhone ? "phone" : "desktop";
  const picture = (name: string) => page.screenshot({ path: join(pictures, `walk-${name}-${width}.png`) });
  const step = async (name: string, run: () => Promise<unknown>) => {
    try {
      await run();
    } catch (error) {
      failed.push(`by keyboard, ${width}: ${name}: ${error instanceof Error ? error.message : String(error)}`);
      await picture(`failed-${name.replaceAll(" ", "-")}`);
    }
  };
  const { keyboard } = page;
  const timeout = 20_000;
  // The policy of the pages forbids what `waitForFunction` does.
  const waitUntil = async (expression: string) => {
    const end = Date.now() + timeout;
    while ((await page.evaluate(expression).catch(() => false)) !== true) {
      if (Date.now() > end) throw new Error(`not so after ${timeout} ms: ${expression}`);
      await delay(100);
    }
  };
  const focusOn = async (selector: string) => {
    for (let presses = 0; presses < 400; presses++) {
      if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)}) === true`)) return;
      await keyboard.press("Tab");
    }
    throw new Error(`${selector} is not reached with the tab key`);
  };

  await step("the first stop is the link to the text", async () => {
    await keyboard.press("Tab");
    await waitUntil("document.activeElement?.className === 'skip'");
  });
  await step("search finds an operation", async () => {
    await keyboard.press("/");
    await keyboard.type("callstart");
    await page.waitForSelector(".found li", { timeout });
    await picture("search");
    await keyboard.press("ArrowDown");
    await keyboard.press("Enter");
    await page.waitForURL(/tracing\/call-start\.html/, { timeout });
  });
  await step("arrow keys change the tab", async () => {
    await focusOn("[role=tab][aria-selected=true]");
    await keyboard.press("ArrowRight");
    await waitUntil(
      "document.activeElement?.textContent === 'TypeScript' && document.activeElement.ariaSelected === 'true'",
    );
  });
  await step("the copy button copies the sample", async () => {
    await focusOn("[role=tabpanel]:not([hidden]) .code-head button");
    await keyboard.press("Enter");
    await waitUntil("navigator.clipboard.readText().then((text) => text.includes('callStart('))");
  });
  await step("the form sends the example", async () => {
    await focusOn(".try [name=key]");
    await keyboard.type(apiKey);
    await focusOn(".try [type=submit]");
    await keyboard.press("Enter");
    await waitUntil("document.querySelector('.try .status').textContent.startsWith('200')");
    await waitUntil("document.querySelector('.try .output').textContent.includes('trace_id')");
    await picture("sent");
  });
  await step("the form shows a stream by lines", async () => {
    await page.goto(new URL("calls-query-stream.html", page.url()).href);
    await focusOn(".try [name=key]");
    await keyboard.type(apiKey);
    await focusOn(".try textarea[name=body]");
    await keyboard.press("ControlOrMeta+a");
    await keyboard.insertText('{"project_id": "acme/demo", "limit": 2}');
    await focusOn(".try [type=submit]");
    await keyboard.press("Enter");
    await waitUntil("/^200.* lines, /.test(document.querySelector('.try .status').textContent)");
  });
  await step("the theme is chosen and kept", async () => {
    if (isPhone) {
      await focusOn(".menu-button");
      await keyboard.press("Enter");
    }
    await focusOn(".theme select");
    await keyboard.type("Dark");
    await waitUntil("document.documentElement.dataset.theme === 'dark'");
    await page.reload();
    await waitUntil("document.documentElement.dataset.theme === 'dark'");
  });
  if (isPhone) {
    await step("the menu opens", async () => {
      await focusOn(".menu-button");
      await keyboard.press("Enter");
      await page.waitForSelector("body.menu-open #menu", { timeout });
      await picture("menu");
    });
  }
  return failed;
}
