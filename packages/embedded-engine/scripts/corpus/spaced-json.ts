/**
 * JSON with a space after each colon and comma, as the template's `tojson` writes it. For values without exotic
 * numbers.
 */
export function spacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}: ${spacedJson(each)}`)
    .join(", ")}}`;
}
