import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { pictureFiles, readGuides } from "./guides.js";
import { renderMarkdown } from "./markdown.js";

/** Heads of a picture of 1200 × 750: as Chromium writes it, with a profile of colours, and without one. */
const withProfile = Buffer.from("524946460000000057454250565038580a00000020000000af0400ed0200", "hex");
const webp = Buffer.from("52494646000000005745425056503820000000000000009d012ab004ee02", "hex");

function guides(markdown: string, picture: Uint8Array | undefined) {
  const docs = mkdtempSync(join(tmpdir(), "heddle-pictures-"));
  onTestFinished(() => rmSync(docs, { recursive: true }));
  mkdirSync(join(docs, "guides/deep/pictures"), { recursive: true });
  writeFileSync(join(docs, "guides/order.json"), '[{"title":"All","guides":["deep/console"]}]');
  writeFileSync(join(docs, "guides/deep/console.md"), `# Look\n\nAt it.\n\n${markdown}\n`);
  if (picture !== undefined) writeFileSync(join(docs, "guides/deep/pictures/trace.webp"), picture);
  return readGuides(docs, false);
}

test("a guide that shows a picture which does not exist is named, with the picture", () => {
  expect(() => guides("![A trace](pictures/trace.webp)", undefined)).toThrow(
    "guides/deep/console.md shows pictures/trace.webp, which does not exist: pnpm pictures",
  );
  expect(() => guides("![A trace](pictures/trace.webp)", Buffer.from("no picture"))).toThrow("is no lossy WebP");
});

test.each([withProfile, webp])("a picture is a file of the site, and the page keeps room for it", (picture) => {
  const [group] = guides("![A trace](pictures/trace.webp)", picture);
  const [guide] = group?.guides ?? [];
  expect(pictureFiles(group === undefined ? [] : [group])).toEqual({ "guides/deep/pictures/trace.webp": picture });
  expect(renderMarkdown(guide?.markdown ?? "", { pictures: guide?.pictures }).html).toContain(
    '<img src="pictures/trace.webp" width="1200" height="750" loading="lazy" alt="A trace">',
  );
});
