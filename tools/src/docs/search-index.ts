import { posix } from "node:path";
import MiniSearch from "minisearch";
import type { TextSection } from "./markdown.js";
import type { Page } from "./page/page.js";
import { searchOptions } from "./search-terms.js";
import type { EntryKind, SearchEntry } from "./search-terms.js";

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
      // A guide is found by the name of its address as an operation by its id.
      const keywords = page.keywords ?? (kindOf(page, "") === "guide" ? posix.basename(page.path) : "");
      entries.push({ ...entryAt(page, ""), keywords, text: body });
    } else entries.push({ ...entryAt(page, id), heading: text, text: body });
  }
  return entries;
}

function entryAt(page: Page, id: string): Omit<SearchEntry, "id"> {
  const href = id === "" ? `${page.path}.html` : `${page.path}.html#${id}`;
  return { href, kind: kindOf(page, id), title: page.title, heading: "", keywords: "", text: "" };
}

function kindOf({ path, method }: Page, id: string): EntryKind {
  if (path === "changelog") return "changelog";
  if (path.endsWith("/types")) return "type";
  if (id !== "") return "section";
  if (path.startsWith("guides/")) return "guide";
  return method === undefined ? "section" : "operation";
}
