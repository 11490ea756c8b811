/** Shows the field that filters the rows of all tables of the page: those are left that have every word. */
export function enableTableFilter(form: HTMLElement): void {
  const input = form.querySelector("input");
  const output = form.querySelector("output");
  const main = form.closest("main");
  if (!input || !output || !main) return;
  form.hidden = false;
  const rows = [...main.querySelectorAll<HTMLElement>("tbody tr")].map((row) => ({ row, text: textOf(row) }));
  const tables = [...main.querySelectorAll<HTMLElement>(".table")];

  function filter(): void {
    if (!input || !output) return;
    const words = input.value.toLowerCase().split(/\s+/);
    let visible = 0;
    for (const { row, text } of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) visible++;
    }
    for (const table of tables) {
      table.hidden = table.querySelector("tbody tr:not([hidden])") === null;
      // The heading of a table is the element before it.
      if (table.previousElementSibling instanceof HTMLElement) table.previousElementSibling.hidden = table.hidden;
    }
    output.textContent = visible === rows.length ? "" : `${visible} of ${rows.length}`;
  }
  input.addEventListener("input", filter);
  // The browser may have kept what was typed.
  filter();
}

/** What a row says, with the heading of its table. */
function textOf(row: HTMLElement): string {
  const heading = row.closest(".table")?.previousElementSibling?.textContent ?? "";
  return `${heading} ${row.textContent}`.toLowerCase();
}
