/** The parameters of an address, each as text: people write and read them. Of repeated ones the last. */
export const readSearch = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search));

/** The text for an address; with a question mark, unless it is empty. */
export function writeSearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
  const text = new URLSearchParams(given).toString();
  return text === "" ? "" : `?${text}`;
}
