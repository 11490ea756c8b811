import { posix } from "node:path";
import type { Assets } from "./assets.js";
import type { Heading } from "./markdown.js";
import type { MenuEntry, Page, Section } from "./page/page.js";
import { methodBadge } from "./page/method-badge.js";
import { escapeHtml, readTemplate } from "./page/template.js";

export interface ShellOptions {
  /** Directory of the templates. */
  template: string;
  /** Content-Security-Policy of each page. */
  policy: string;
  assets: Assets;
  sections: readonly Section[];
}

interface Article {
  section: Section;
  page: Page;
  html: string;
  headings: readonly Heading[];
}

/** Puts the head, the menus and the links to neighbours around the text of a page. */
export interface Shell {
  article: (article: Article) => string;
  /** A page without menu, at the root of the site. */
  plain: (title: string, description: string, body: string) => string;
  /** The page for addresses without a page. All of its addresses begin with `./`, so that a server can write others. */
  lost: (title: string, body: string) => string;
}

export function createShell({ template, policy, assets, sections }: ShellOptions): Shell {
  const fillPage = readTemplate(template, "page.html");
  const fillArticle = readTemplate(template, "article.html");

  function pageHtml(path: string, title: string, description: string, body: string, root = rootFrom(path)): string {
    const site = sections.map(({ title: name, menu }) => {
      const [first] = menu;
      const target = first === undefined ? "" : firstPath(first);
      const current = path !== "index" && sectionOf(sections, path)?.title === name ? ' aria-current="true"' : "";
      return `<a href="${root}${target}.html"${current}>${escapeHtml(name)}</a>`;
    });
    return fillPage({
      policy: escapeHtml(policy),
      root,
      title: escapeHtml(title),
      description: escapeHtml(description),
      site: site.join("\n"),
      body,
      ...assets,
    });
  }

  return {
    plain: (title, description, body) => pageHtml("index", title, description, body),
    lost: (title, body) => pageHtml("404", `${title} · Heddle`, title, body, "./"),
    article({ section, page, html, headings }) {
      const { path, title, description } = page;
      const body = fillArticle({
        section: escapeHtml(section.title),
        kind: page.wide === true ? "columns wide" : "columns",
        menu: menuHtml(section, path),
        source: `${posix.basename(path)}.md`,
        content: contentsHtml(headings, "details") + html,
        contents: contentsHtml(headings, "nav"),
        neighbours: neighboursHtml(section, page),
      });
      return pageHtml(path, `${title} · Heddle`, description, body);
    },
  };
}

function rootFrom(path: string): string {
  return "../".repeat(path.split("/").length - 1);
}

function sectionOf(sections: readonly Section[], path: string): Section | undefined {
  return sections.find(({ pages }) => pages.some((page) => page.path === path));
}

function firstPath(entry: Section["menu"][number]): string {
  return "path" in entry ? entry.path : (entry.entries[0]?.path ?? "");
}

function href(from: string, to: string): string {
  return `${posix.relative(posix.dirname(from), to)}.html`;
}

function menuHtml({ menu }: Section, path: string): string {
  const entry = ({ title, path: target, method }: MenuEntry) => {
    const mark = target === path ? ' aria-current="page"' : "";
    const badge = method === undefined ? "" : ` ${methodBadge(method)}`;
    return `<li><a href="${href(path, target)}"${mark}>${escapeHtml(title)}${badge}</a></li>`;
  };
  const items = menu.map((item) => {
    if ("path" in item) return entry(item);
    const open = item.open === true || item.entries.some((one) => one.path === path) ? " open" : "";
    const list = item.entries.map(entry).join("\n");
    return `<li><details${open}><summary>${escapeHtml(item.title)}</summary><ul>\n${list}\n</ul></details></li>`;
  });
  return `<ul>\n${items.join("\n")}\n</ul>`;
}

/** The headings of a page as links: a list beside the text for wide windows, one that opens for others. */
function contentsHtml(headings: readonly Heading[], tag: "nav" | "details"): string {
  const listed = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (listed.length < 2) return "";
  const items = listed.map(
    ({ depth, id, text }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  const list = `<ul>\n${items.join("\n")}\n</ul>`;
  return tag === "nav"
    ? `<nav class="contents" aria-label="On this page"><p class="label">On this page</p>${list}</nav>`
    : `<details class="contents-small"><summary>On this page</summary>${list}</details>\n`;
}

function neighboursHtml({ pages }: Section, page: Page): string {
  const index = pages.indexOf(page);
  const link = (neighbour: Page | undefined, rel: "prev" | "next", label: string) =>
    neighbour === undefined
      ? ""
      : `<a rel="${rel}" href="${href(page.path, neighbour.path)}"><small>${label}</small> ${escapeHtml(neighbour.title)}</a>`;
  return link(pages[index - 1], "prev", "Previous") + link(pages[index + 1], "next", "Next");
}
