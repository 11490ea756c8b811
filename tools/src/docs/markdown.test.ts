import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { renderMarkdown } from "./markdown.js";
import { escapeHtml, readTemplate } from "./template.js";

test("headings can be linked to, also when two have the same text", () => {
  const html = renderMarkdown("# Guide\n\n## What it is\n\n### `limit` & co\n\n## What it is\n");
  expect(html).toContain("<h1>Guide</h1>");
  expect(html).toContain('<h2 id="what-it-is"><a class="anchor" href="#what-it-is">What it is</a></h2>');
  expect(html).toContain('<h3 id="limit-co">');
  expect(html).toContain('<h2 id="what-it-is-1">');
});

test("links between guides lead to their pages, others stay", () => {
  const html = renderMarkdown("[a](errors.md#top) [b](https://example.org/x.md) [c](#here)");
  expect([...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
    "errors.html#top",
    "https://example.org/x.md",
    "#here",
  ]);
});

test("a template refuses unused and missing values", () => {
  const directory = mkdtempSync(join(tmpdir(), "heddle-template-"));
  writeFileSync(join(directory, "t.html"), "<p>{{text}}</p>");
  const fill = readTemplate(directory, "t.html");
  expect(fill({ text: escapeHtml('<"&">') })).toBe("<p>&lt;&quot;&amp;&quot;&gt;</p>");
  expect(() => fill({})).toThrow("t.html: no value for {{text}}");
  expect(() => fill({ text: "", title: "" })).toThrow("t.html: no placeholder for title");
});
