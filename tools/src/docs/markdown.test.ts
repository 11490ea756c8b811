import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { renderMarkdown } from "./markdown.js";
import { codeBlock, codeSpan, firstSentence, plainText, table } from "./page/markdown-text.js";
import { escapeHtml, readTemplate } from "./page/template.js";

test("headings can be linked to, also when two have the same text", () => {
  const { html, sections } = renderMarkdown("# Guide\n\n## What it is\n\n### `limit` & co\n\n## What it is\n");
  expect(html).toContain("<h1>Guide</h1>");
  expect(html).toContain('<h2 id="what-it-is"><a class="anchor" href="#what-it-is">What it is</a></h2>');
  expect(html).toContain('<h3 id="limit-co">');
  expect(html).toContain('<h2 id="what-it-is-1">');
  expect(sections.map(({ id, depth }) => [id, depth])).toEqual([
    ["guide", 1],
    ["what-it-is", 2],
    ["limit-co", 3],
    ["what-it-is-1", 2],
  ]);
});

test("the text of a section is what readers see", () => {
  const markdown =
    "# A\n\nSee *`the` [list](x.md)*.<!-- no -->\n\n| a | b |\n|---|---|\n| c | `d` |\n\n- e\n- f\n\n```ts\ng();\n```\n\n```output\nno\n```\n";
  const [section] = renderMarkdown(markdown).sections;
  expect(section?.body.replaceAll(/\s+/g, " ").trim()).toBe("See the list. a b c d e f g();");
});

test("links between pages lead to their HTML, others stay, and links that run code are text", () => {
  const { html } = renderMarkdown(
    "[a](errors.md#top) [b](https://example.org/x.md) [c](#here) [d](javascript:alert(1)) [e](data:text/html,x)",
  );
  expect([...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
    "errors.html#top",
    "https://example.org/x.md",
    "#here",
  ]);
  expect(html).toContain(" d e");
});

test("HTML in Markdown is text, comments are left out, and images of other hosts are their text", () => {
  const { html } = renderMarkdown(
    '<b onclick="x">a</b>\n\n<!-- hidden -->\n\n![seen](//example.org/i.png) ![](own.png)',
  );
  expect(html).toContain("&lt;b onclick=&quot;x&quot;&gt;");
  expect(html).not.toContain("hidden");
  expect(html).toContain('seen <img src="own.png" alt="">');
});

test("figures that a page has are drawn in it, by their address alone", () => {
  const figures = { "figures/a.svg": "<svg><path /></svg>" };
  const { html } = renderMarkdown("![a](figures/a.svg) ![b](figures/b.svg) ![c](constructor)", { figures });
  expect(html).toContain("<svg><path /></svg>");
  expect(html).toContain('<img src="figures/b.svg" alt="b"> <img src="constructor" alt="c">');
});

test("cells, spans and blocks hold any text", () => {
  const { html } = renderMarkdown(table(["a"], [[codeSpan("x|`y`")], ["two\n\nlines | one"]]));
  expect(html).toContain("<td><code>x|`y`</code></td>");
  expect(html).toContain("<td>two lines | one</td>");
  expect(renderMarkdown(codeBlock("sh", "a\n```\nb")).html).toContain("a\n```\nb");
});

test("the first sentence ends at the first stop that a space follows", () => {
  expect(firstSentence("Reads `a.b` of\nit. Then more.\n\nAnd more")).toBe("Reads `a.b` of it.");
  expect(firstSentence("No stop\n\nMore.")).toBe("No stop");
  expect(plainText("**A** [link](x.md) to `code`")).toBe("A link to code");
});

test("a template refuses unused and missing values", () => {
  const directory = mkdtempSync(join(tmpdir(), "heddle-template-"));
  writeFileSync(join(directory, "t.html"), "<p>{{text}}</p>");
  const fill = readTemplate(directory, "t.html");
  expect(fill({ text: escapeHtml('<"&">') })).toBe("<p>&lt;&quot;&amp;&quot;&gt;</p>");
  expect(() => fill({})).toThrow("t.html: no value for {{text}}");
  expect(() => fill({ text: "", title: "" })).toThrow("t.html: no placeholder for title");
});

test("a column has a header only where the header has text", () => {
  const { html } = renderMarkdown("| | Time |\n| --- | --- |\n| first | 1 s |\n");
  expect(html).toContain('<thead><tr><td></td><th scope="col">Time</th></tr>\n</thead>');
});
