/**
 * JSON text as one line, its value unchanged. Free JSON is passed on as it was sent, line breaks between its tokens
 * included, and a stream is cut at line breaks: LF and CR, which are allowed only between tokens, become spaces.
 * Readers that know Unicode also cut at U+0085, U+2028 and U+2029, which are allowed only inside strings: those are
 * written as escapes.
 */
export function oneLine(json: string): string {
  // Searching for one character is several times faster than a class of them, and nearly no text holds any.
  return breaks.some((character) => json.includes(character)) ? json.replace(anyBreak, inLine) : json;
}

const breaks = ["\n", "\r", "\u0085", "\u2028", "\u2029"];
const anyBreak = /[\n\r\u0085\u2028\u2029]/g;

function inLine(character: string): string {
  return character < " " ? " " : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
