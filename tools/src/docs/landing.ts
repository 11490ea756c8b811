import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { MenuGroup, Page, Section } from "./page/page.js";
import { escapeHtml, readTemplate } from "./page/template.js";

/** The first page, between header and end: the groups of guides that say what they are about, and the references. */
export function landingHtml(template: string, sections: readonly Section[], firstLines: string): string {
  const [guides, ...others] = sections;
  const groups = (guides?.menu ?? []).flatMap((item) => ("about" in item ? [groupHtml(item)] : []));
  const references = others.flatMap(({ pages }) => pages.slice(0, 1)).map(cardHtml);
  return readTemplate(
    template,
    "landing.html",
  )({
    loop: readFileSync(join(template, "loop.svg"), "utf8"),
    firstLines,
    groups: groups.join("\n"),
    references: references.join("\n"),
  });
}

function groupHtml({ title, about = "", entries }: MenuGroup): string {
  const links = entries.map((entry) => `<li><a href="${entry.path}.html">${escapeHtml(entry.title)}</a></li>`);
  return `<section><h2>${escapeHtml(title)}</h2><p>${escapeHtml(about)}</p><ul>\n${links.join("\n")}\n</ul></section>`;
}

function cardHtml({ path, title, description }: Page): string {
  return `<li><a href="${path}.html"><strong>${escapeHtml(title)}</strong><span>${escapeHtml(description)}</span></a></li>`;
}
