const quote = 34;
const backslash = 92;
/** `,`, `:`, `[` and `{`: each begins a value. */
const beginnings = new Set([44, 58, 91, 123]);

/** How many values, and names of members, a JSON text has at most. Stops beyond `most`. */
export function countValues(text: string, most: number): number {
  let values = 1;
  for (let at = 0; at < text.length && values <= most; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (beginnings.has(code)) values++;
  }
  return values;
}

/** Position of the closing quote; the end of the text where there is none. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}
