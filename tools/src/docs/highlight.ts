import { createHighlighter } from "shiki";
import type { BundledLanguage } from "shiki";
import { escapeHtml } from "./page/template.js";

export interface Highlighter {
  /** The lines of code as HTML, with classes instead of styles. */
  highlight: (code: string, language: string) => string;
  /** The rules of the classes that were used so far, by both themes. */
  rules: () => string;
}

/** Languages by the names that fences use. Others are shown without colours. */
const languages: Record<string, BundledLanguage> = {
  sh: "shellscript",
  bash: "shellscript",
  ts: "typescript",
  js: "javascript",
  json: "json",
  jsonl: "json",
  python: "python",
  py: "python",
  yaml: "yaml",
  toml: "toml",
  ini: "ini",
  http: "http",
  sql: "sql",
  nginx: "nginx",
  docker: "docker",
  dockerfile: "docker",
};

const themes = { light: "github-light-high-contrast", dark: "github-dark-high-contrast" } as const;

/**
 * Highlights code when the site is built, so that pages need neither a script nor inline styles for it. It remembers the
 * HTML of each text.
 */
export async function createCodeHighlighter(): Promise<Highlighter> {
  const shiki = await createHighlighter({
    themes: Object.values(themes),
    langs: [...new Set(Object.values(languages))],
  });
  const classes = new Map<string, string>();
  const classOf = (style: string) => {
    const name = classes.get(style) ?? `s${classes.size}`;
    classes.set(style, name);
    return name;
  };
  const done = new Map<string, string>();
  const highlight = (code: string, lang: BundledLanguage) => {
    const { tokens } = shiki.codeToTokens(code, { lang, themes, defaultColor: "light-dark()" });
    return tokens
      .map((line) =>
        mergeStyles(line)
          .map(([style, text]) => spanOf(style, text, classOf))
          .join(""),
      )
      .join("\n");
  };
  return {
    highlight(code, language) {
      const lang = languages[language];
      if (lang === undefined) return escapeHtml(code);
      const key = `${lang}\n${code}`;
      const html = done.get(key) ?? highlight(code, lang);
      done.set(key, html);
      return html;
    },
    rules: () => [...classes].map(([style, name]) => `.${name}{${style}}`).join("\n"),
  };
}

/** Neighbours of one style become one span. */
function mergeStyles(line: { content: string; htmlStyle?: Record<string, string> }[]): [string, string][] {
  const merged: [string, string][] = [];
  for (const { content, htmlStyle = {} } of line) {
    const style = Object.entries(htmlStyle)
      .map(([key, value]) => `${key}:${value}`)
      .join(";");
    const last = merged.at(-1);
    if (last !== undefined && (last[0] === style || content.trim() === "")) last[1] += content;
    else merged.push([style, content]);
  }
  return merged;
}

function spanOf(style: string, text: string, classOf: (style: string) => string): string {
  return style === "" ? escapeHtml(text) : `<span class="${classOf(style)}">${escapeHtml(text)}</span>`;
}
