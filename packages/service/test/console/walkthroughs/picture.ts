import { mkdirSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";

const directory = new URL("../../../../docs/guides/pictures/", import.meta.url);

/** Whether the pictures of the guides are taken anew: `pnpm pictures`. */
const takesPictures = process.env["PICTURES"] === "write";

/** Photographs what a guide shows. Others see it as it is stored: a browser of another version draws other pixels. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!takesPictures) return;
  // Until what was said is painted.
  await page.waitForTimeout(400);
  const devTools = await page.context().newCDPSession(page);
  const { data } = await devTools.send("Page.captureScreenshot", { format: "webp", quality: 60 });
  mkdirSync(directory, { recursive: true });
  writeFileSync(new URL(`${name}.webp`, directory), Buffer.from(data, "base64"));
  await devTools.detach();
}
