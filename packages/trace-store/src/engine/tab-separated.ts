/** Text in the TabSeparated format, which is also that of parameters. */
export function escaped(text: string): string {
  // Looking for one character is some ten times faster than for a class of them.
  let out = text.includes("\\") ? text.replaceAll("\\", "\\\\") : text;
  if (out.includes("\n")) out = out.replaceAll("\n", "\\n");
  if (out.includes("\t")) out = out.replaceAll("\t", "\\t");
  if (out.includes("\r")) out = out.replaceAll("\r", "\\r");
  return out;
}

/** Text inside of a list in the TabSeparated format. */
export function quoted(text: string): string {
  const field = escaped(text);
  return field.includes("'") ? `'${field.replaceAll("'", "\\'")}'` : `'${field}'`;
}

/** The same as the bytes to be written. */
export const quotedBytes = (text: string): Buffer => Buffer.from(quoted(text));

/** The text that {@link quotedBytes} quoted. */
export const unquoted = ({ buffer, byteOffset, length }: Uint8Array): string =>
  unescaped(Buffer.from(buffer, byteOffset, length).toString("utf8", 1, length - 1));

/** The text of a field that {@link escaped} made. */
export function unescaped(field: string): string {
  return field.includes("\\") ? field.replaceAll(/\\(.)/gs, (_, code: string) => characters[code] ?? code) : field;
}

/** The text of a field; null where the column has none. */
export function fieldText(field: string): string | null {
  return field === "\\N" ? null : unescaped(field);
}

const characters: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };
