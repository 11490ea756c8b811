import { exactText, readExact, rowsOf } from "./exact-value.js";
import type { ExactObject, ExactValue } from "./exact-value.js";

/** Values and rows that are drawn at once; more are drawn when they are asked for. */
const atOnce = 200;
const maxColumns = 24;

/** Adds a tree and, of lists of objects, a table to a response that is shown as text. Takes away those of another. */
export function showViews(text: HTMLElement, body: string): void {
  const before = text.parentElement?.querySelector(".views");
  before?.remove();
  text.hidden = false;
  const value = readExact(body) ?? readLines(body);
  if (value === undefined || typeof value === "string") return;
  const rows = rowsOf(value);
  const views: [label: string, make: () => HTMLElement][] = [
    ["Text", () => text],
    ["Tree", () => wrap("tree", tree(value, 2))],
    ...(rows === undefined ? [] : [["Table", () => wrap("rows", table(rows))] as [string, () => HTMLElement]]),
  ];
  text.before(chooser(text, views));
}

/** JSON Lines as a list; undefined when a line is none. */
function readLines(body: string): ExactValue | undefined {
  const lines = body.split("\n").filter((line) => line.trim() !== "");
  const values = lines.map(readExact);
  return values.length > 1 && values.every((value) => value !== undefined) ? values : undefined;
}

/** Buttons that show one view at a time. A view is made when it is first looked at. */
function chooser(text: HTMLElement, views: readonly [string, () => HTMLElement][]): HTMLElement {
  const viewsByLabel = new Map<string, HTMLElement>([["Text", text]]);
  const group = element("div", "views");
  const bar = group.appendChild(element("div", "view-choice"));
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "Show the response as");
  const buttons = views.map(([label, make]) => {
    const button = bar.appendChild(element("button"));
    button.setAttribute("type", "button");
    button.textContent = label;
    button.addEventListener("click", () => {
      let view = viewsByLabel.get(label);
      if (view === undefined) {
        view = make();
        viewsByLabel.set(label, view);
        group.append(view);
      }
      for (const other of viewsByLabel.values()) other.hidden = other !== view;
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    });
    button.setAttribute("aria-pressed", String(label === "Text"));
    return button;
  });
  return group;
}

function wrap(className: string, content: HTMLElement): HTMLElement {
  const box = element("div", className);
  // It scrolls, so that keys have to reach it.
  box.tabIndex = 0;
  box.append(content);
  return box;
}

/** Nested lists whose branches open. The first `open` levels are. */
function tree(value: ExactValue, open: number): HTMLElement {
  const entries: [string, ExactValue][] =
    typeof value === "string"
      ? []
      : Array.isArray(value)
        ? value.map((item, index) => [String(index), item])
        : value.members;
  const list = element("ul");
  addInSteps(list, entries, "li", ([name, member]) => {
    const item = element("li");
    const label = element("b");
    label.textContent = name;
    if (typeof member === "string") {
      const text = element("code");
      text.textContent = member;
      item.append(label, " ", text);
      return item;
    }
    const branch = item.appendChild(document.createElement("details"));
    const count = Array.isArray(member) ? member.length : member.members.length;
    const summary = branch.appendChild(element("summary"));
    summary.append(label, Array.isArray(member) ? ` [${count}]` : ` {${count}}`);
    const fill = () => branch.childElementCount === 1 && branch.append(tree(member, open - 1));
    branch.addEventListener("toggle", fill);
    if (open > 1 && count <= atOnce) {
      branch.open = true;
      fill();
    }
    return item;
  });
  return list;
}

function table(rows: readonly ExactObject[]): HTMLElement {
  const columns = [...new Set(rows.slice(0, atOnce).flatMap(({ members }) => members.map(([name]) => name)))].slice(
    0,
    maxColumns,
  );
  const grid = element("table");
  const head = grid.appendChild(element("thead")).appendChild(element("tr"));
  for (const column of columns) head.appendChild(element("th")).textContent = column;
  addInSteps(grid.appendChild(element("tbody")), rows, "tr", ({ members }) => {
    const row = element("tr");
    for (const column of columns) {
      const value = members.find(([name]) => name === column)?.[1];
      const text = value === undefined ? "" : exactText(value);
      const cell = row.appendChild(element("td")).appendChild(element("code"));
      cell.textContent = text.length > 120 ? `${text.slice(0, 120)}…` : text;
    }
    return row;
  });
  return grid;
}

/** Adds elements for items, and a button for those that are not drawn yet. */
function addInSteps<T>(
  parent: HTMLElement,
  items: readonly T[],
  kind: "li" | "tr",
  make: (item: T) => HTMLElement,
  from = 0,
): void {
  parent.append(...items.slice(from, from + atOnce).map(make));
  const left = items.length - from - atOnce;
  if (left <= 0) return;
  const holder = parent.appendChild(element(kind));
  const button = element("button");
  button.setAttribute("type", "button");
  button.textContent = `${left} more`;
  button.addEventListener("click", () => {
    holder.remove();
    addInSteps(parent, items, kind, make, from + atOnce);
  });
  if (kind === "tr") holder.appendChild(element("td")).append(button);
  else holder.append(button);
}

function element(name: string, className = ""): HTMLElement {
  const node = document.createElement(name);
  if (className !== "") node.className = className;
  return node;
}
