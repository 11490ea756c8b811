/** The tokens of JSON text: strings, numbers, names and signs, as they are written. */
export const jsonTokens = (text: string): string[] => text.match(/"(?:[^"\\]|\\[^])*"|[{}[\],:]|[^\s"{}[\],:]+/g) ?? [];

/** Adds line breaks and indentation to JSON text. Numbers and strings stay as they were sent: `1.0` is not `1`. */
export function indentJson(text: string): string {
  let out = "";
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const token of jsonTokens(text)) {
    if (token === "{" || token === "[") {
      depth++;
      out += token + line();
    } else if (token === "}" || token === "]") {
      depth = Math.max(0, depth - 1);
      // An empty object or array stays on its line.
      out = /[{[]\s*$/.test(out) ? out.trimEnd() + token : out + line() + token;
    } else if (token === ",") out += token + line();
    else if (token === ":") out += ": ";
    else out += token;
  }
  return out;
}
