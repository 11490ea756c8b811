/** A comment of the text; empty for no text. `lineBreak` ends it with one. */
export function jsDoc(text: string, lineBreak = false): string {
  const lines = text.trim().replaceAll("*/", "*\\/").split("\n");
  if (text.trim() === "") return "";
  const end = lineBreak ? "\n" : "";
  if (lines.length === 1) return `/** ${lines[0] ?? ""} */${end}`;
  return ["/**", ...lines.map((line) => ` * ${line}`.trimEnd()), " */"].join("\n") + end;
}
