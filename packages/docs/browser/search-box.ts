import MiniSearch from "minisearch";
import { matchingLine } from "@heddle/tools/search-line";
import { searchEntries } from "@heddle/tools/search-query";
import type { FoundEntry } from "@heddle/tools/search-query";
import { searchOptions } from "@heddle/tools/search-terms";
import type { SearchEntry } from "@heddle/tools/search-terms";

const maxResults = 12;

/** Shows the search box. The index is fetched at the first keystroke; pages that are opened from a file have none. */
export function enableSearch(form: HTMLFormElement, root: string): void {
  const input = form.querySelector("input");
  const found = form.querySelector<HTMLElement>(".found");
  const status = found?.querySelector("p");
  const list = found?.querySelector("ul");
  const source = form.dataset["index"];
  if (!input || !found || !status || !list || source === undefined || location.protocol === "file:") return;
  form.hidden = false;
  let index: Promise<MiniSearch<SearchEntry>> | undefined;

  async function show(text: string): Promise<void> {
    if (!status || !list || !found || !input || source === undefined) return;
    if (text.trim() === "") {
      found.hidden = true;
      return;
    }
    found.hidden = false;
    index ??= loadIndex(source);
    let results;
    try {
      results = searchEntries(await index, text);
    } catch {
      index = undefined;
      status.textContent = "The search index cannot be read. Type again to retry.";
      return;
    }
    if (text !== input.value) return;
    status.textContent = results.length === 0 ? "Nothing found" : `${results.length} found`;
    list.replaceChildren(...results.slice(0, maxResults).map((result) => resultItem(root, result)));
  }

  input.addEventListener("input", () => void show(input.value));
  input.addEventListener("focus", () => void show(input.value));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("a")?.click();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      found.hidden = true;
      input.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      moveFocus([input, ...list.querySelectorAll("a")], event.key === "ArrowDown" ? 1 : -1);
    }
  });
  document.addEventListener("pointerdown", ({ target }) => {
    if (target instanceof Node && !form.contains(target)) found.hidden = true;
  });
  form.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !form.contains(relatedTarget)) found.hidden = true;
  });
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    const isTyping = target instanceof HTMLElement && target.matches("input, textarea, select");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
  });
}

async function loadIndex(source: string): Promise<MiniSearch<SearchEntry>> {
  const response = await fetch(source);
  if (!response.ok) throw new Error(`${response.status}`);
  return MiniSearch.loadJSON<SearchEntry>(await response.text(), searchOptions);
}

function resultItem(root: string, result: FoundEntry): HTMLLIElement {
  const { href, title, heading } = result;
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = root + href;
  const strong = document.createElement("strong");
  strong.textContent = heading === "" ? title : heading;
  link.append(strong);
  if (heading !== "") {
    const small = document.createElement("small");
    small.textContent = title;
    link.append(" ", small);
  }
  const line = document.createElement("span");
  line.className = "line";
  link.append(line);
  item.append(link);
  void showLine(line, root, result);
  return item;
}

/** The Markdown of pages that were found. */
const texts = new Map<string, Promise<string>>();

/** Shows the line that matches, when the text of its page has come. */
async function showLine(line: HTMLElement, root: string, { href, heading, terms }: FoundEntry): Promise<void> {
  const address = root + href.replace(/\.html(?:#.*)?$/, ".md");
  const text = texts.get(address) ?? fetch(address).then(async (response) => (response.ok ? response.text() : ""));
  texts.set(address, text);
  const found = matchingLine(await text.catch(() => ""), heading, terms);
  let written = 0;
  for (const [start, end] of found?.marks ?? []) {
    const mark = document.createElement("mark");
    mark.textContent = found?.text.slice(start, end) ?? "";
    line.append(found?.text.slice(written, start) ?? "", mark);
    written = end;
  }
  line.append(found?.text.slice(written) ?? "");
}

function moveFocus(stops: HTMLElement[], step: 1 | -1): void {
  const at = stops.findIndex((stop) => stop === document.activeElement);
  stops[Math.min(stops.length - 1, Math.max(0, at + step))]?.focus();
}
