import { join } from "node:path";
import { expect, test } from "vitest";
import { parseModel } from "../model/read-model.js";
import { referenceSection } from "./reference/reference.js";
import { renderSite } from "./render-site.js";
import { escapeHtml } from "./page/template.js";
import { goldenModel } from "../../test/golden-trees.js";

const template = join(import.meta.dirname, "../../../packages/docs/template");
const attack =
  `<script>alert(1)</script><img src=x onerror="alert(1)"><style>*{}</style> "quoted" 'x' {{title}} | a & b ]]> ` +
  `[click](javascript:alert(1)) ![i](https://example.org/i.png) </textarea></pre></td></label>`;
const allowedTags = new Set(
  `html head meta title link script body a header nav form input div p ul li label span select option button main
  details summary h1 h2 h3 h4 strong em code pre table thead tbody tr th td section small textarea svg g path rect figure defs marker
  ellipse text desc img`.split(/\s+/),
);

/** The document with the attack in every text, and as values of enums, defaults and examples. */
function hostile(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => hostile(item, key));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, hostile(item, name)]));
  }
  if (typeof value === "string" && ["description", "summary", "title", "example"].includes(key)) return value + attack;
  return value;
}

test("texts of a contract stay text on every page", () => {
  const { document } = goldenModel();
  const model = parseModel(hostile(document), "library.json");
  model.operations[0]!.params[0]!.default = attack;
  const files = renderSite([referenceSection(model, new Map())], {
    template,
    policy: "default-src 'none'",
    scripts: { theme: "", script: "" },
    highlighter: { highlight: (code) => escapeHtml(code), rules: () => "" },
    first: "",
  });
  const pages = Object.entries(files).filter(([name]) => name.endsWith(".html"));
  expect(pages.length).toBeGreaterThan(10);
  for (const [name, html] of pages) {
    for (const [tag, element = "", attributes = ""] of html.matchAll(/<([a-z][a-z0-9]*)((?:"[^"]*"|[^>"])*)>/gi)) {
      expect(allowedTags, `${name}: ${tag}`).toContain(element.toLowerCase());
      const names = [...attributes.replaceAll(/"[^"]*"/g, "").matchAll(/[^\s=]+/g)].map(([one]) => one);
      expect(
        names.filter((one) => /^on|^style$|^srcdoc$/i.test(one)),
        `${name}: ${tag}`,
      ).toEqual([]);
      if (element === "script") expect(attributes, name).toMatch(/^ src="(?:\.\.?\/)?assets\/[\w.]+"(?: defer)?$/);
      // The first page of the template has one, the contract none.
      if (element === "img") expect(attributes, name).toMatch(/^\s+src="guides\/pictures\/[\w.]+"\s/);
      expect(attributes, name).not.toMatch(/(?:href|src)="(?:javascript|data|https?):/i);
    }
    expect(html.match(/<textarea/g)?.length, name).toBe(html.match(/<\/textarea/g)?.length);
  }
});
