const maxLength = 200;

/** The start of a text, on one line. */
export function excerpt(text: string): string {
  const line = text
    .slice(0, 4 * maxLength)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > maxLength ? `${line.slice(0, maxLength)}…` : line;
}
