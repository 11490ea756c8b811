import MiniSearch from "minisearch";
import type { TextSection } from "./markdown.js";
import type { Page } from "./page/page.js";
import { searchOptions } from "./search-terms.js";
import type { SearchEntry } from "./search-terms.js";

/** The index over all pages as JSON: one entry for each page and each section below a heading of level 2 or 3. */
export function searchIndex(pages: readonly { page: Page; sections: readonly TextSection[] }[]): string {
  const index = new MiniSearch<SearchEntry>(searchOptions);
  index.addAll(pages.flatMap(({ page, sections }) => entriesOf(page, sections)).map((entry, id) => ({ ...entry, id })));
  return JSON.stringify(index);
}

function entriesOf(page: Page, sections: readonly TextSection[]): Omit<SearchEntry, "id">[] {
  const entries: Omit<SearchEntry, "id">[] = [];
  for (const { depth, id, text, body } of sections) {
    if (page.unindexed?.includes(id)) continue;
    const last = entries.at(-1);
    // Deeper headings belong to the section they are in.
    if (depth > 3 && last !== undefined) last.text += ` ${text} ${body}`;
    else if (depth === 1) {
      const keywords = page.keywords ?? "";
      entries.push({ href: `${page.path}.html`, title: page.title, heading: "", keywords, text: body });
    } else
      entries.push({ href: `${page.path}.html#${id}`, title: page.title, heading: text, keywords: "", text: body });
  }
  return entries;
}
