import { join } from "node:path";
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
  const focusOn = async (selector: string) => {
    for (let presses = 0; presses < 400; presses++) {
      if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)}) === true`)) return;
      await keyboard.press("Tab");
    }
    throw new Error(`${selector} is not reached with the tab key`);
  };

  await step("the first stop is the link to the text", async () => {
    await keyboard.press("Tab");
    await page.waitForFunction("document.activeElement?.className === 'skip'", undefined, { timeout });
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
    await page.waitForFunction(
      "document.activeElement?.textContent === 'TypeScript' && document.activeElement.ariaSelected === 'true'",
      undefined,
      { timeout },
    );
  });
  await step("the copy button copies the sample", async () => {
    await focusOn("[role=tabpanel]:not([hidden]) .code-head button");
    await keyboard.press("Enter");
    await page.waitForFunction(
      "navigator.clipboard.readText().then((text) => text.includes('callStart('))",
      undefined,
      {
        timeout,
      },
    );
  });
  await step("the form sends the example", async () => {
    await focusOn(".try [name=key]");
    await keyboard.type(apiKey);
    await focusOn(".try [type=submit]");
    await keyboard.press("Enter");
    await page.waitForFunction("document.querySelector('.try .status').textContent.startsWith('200')", undefined, {
      timeout,
    });
    await page.waitForFunction("document.querySelector('.try .output').textContent.includes('trace_id')", undefined, {
      timeout,
    });
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
    await page.waitForFunction("/^200.* lines, /.test(document.querySelector('.try .status').textContent)", undefined, {
      timeout,
    });
  });
  await step("the theme is chosen and kept", async () => {
    await focusOn(".theme select");
    await keyboard.type("Dark");
    await page.waitForFunction("document.documentElement.dataset.theme === 'dark'", undefined, { timeout });
    await page.reload();
    await page.waitForFunction("document.documentElement.dataset.theme === 'dark'", undefined, { timeout });
  });
  if (isPhone) {
    await step("the menu opens", async () => {
      await focusOn(".menu-button");
      await keyboard.press("Enter");
      await page.waitForSelector("#menu.open", { timeout });
      await picture("menu");
    });
  }
  return failed;
}
