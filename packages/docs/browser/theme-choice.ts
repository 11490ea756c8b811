import { readStored, writeStored } from "./stored.js";

/** The theme that the reader chose: `light`, `dark`, or `system`. */
export function storedTheme(): string {
  return readStored("theme") ?? "system";
}

export function applyTheme(theme: string): void {
  document.documentElement.dataset["theme"] = theme;
}

/** Shows the choice of themes. */
export function addThemeChoice(label: HTMLElement): void {
  const select = label.querySelector("select");
  if (select === null) return;
  select.value = storedTheme();
  select.addEventListener("change", () => {
    writeStored("theme", select.value);
    applyTheme(select.value);
  });
  label.hidden = false;
}
