import { readStored, writeStored } from "./stored.js";

interface Tab {
  name: string;
  button: HTMLButtonElement;
  panel: HTMLElement;
}

const groups: Tab[][] = [];

/** Makes tabs of blocks of code that follow each other and have titles. Without the script all are shown. */
export function addTabs(): void {
  const seen = new Set<HTMLElement>();
  for (const block of document.querySelectorAll<HTMLElement>(".code[data-title]")) {
    if (seen.has(block)) continue;
    const row = rowFrom(block);
    for (const one of row) seen.add(one);
    if (row.length > 1) addGroup(row);
  }
}

/** The block with the ones right after it. */
function rowFrom(block: HTMLElement): HTMLElement[] {
  const row = [block];
  let next = block.nextElementSibling;
  while (next instanceof HTMLElement && next.matches(".code[data-title]")) {
    row.push(next);
    next = next.nextElementSibling;
  }
  return row;
}

function addGroup(panels: HTMLElement[]): void {
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Variants");
  const prefix = `tabs-${groups.length}`;
  const tabs = panels.map((panel, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.id = `${prefix}-tab-${index}`;
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", `${prefix}-${index}`);
    button.textContent = panel.dataset["title"] ?? "";
    panel.id = `${prefix}-${index}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", button.id);
    list.append(button);
    return { name: button.textContent, button, panel };
  });
  groups.push(tabs);
  for (const [index, tab] of tabs.entries()) {
    tab.button.addEventListener("click", () => choose(tab));
    tab.button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const target = step === undefined ? undefined : tabs[(index + step + tabs.length) % tabs.length];
      if (target === undefined) return;
      event.preventDefault();
      choose(target);
      target.button.focus();
    });
  }
  panels[0]?.before(list);
  const stored = readStored("tab");
  select(tabs, tabs.find(({ name }) => name === stored) ?? tabs[0]);
}

/** Selects the tab, and those of the same name in other groups, on this page and the next ones. */
function choose(tab: Tab): void {
  writeStored("tab", tab.name);
  for (const tabs of groups) {
    const same = tabs.includes(tab) ? tab : tabs.find(({ name }) => name === tab.name);
    if (same !== undefined) select(tabs, same);
  }
}

function select(tabs: Tab[], selected: Tab | undefined): void {
  for (const { button, panel } of tabs) {
    const isSelected = button === selected?.button;
    button.setAttribute("aria-selected", String(isSelected));
    button.tabIndex = isSelected ? 0 : -1;
    panel.hidden = !isSelected;
  }
}
