/** Searches of the engine cannot be interrupted: in the worst case they compare each character of a piece with the part. */
const pieceLength = 262_144;
const maxPart = 1000;

/** `text.includes(part)` in time in proportion to the text for long parts, and in steps that can be interrupted. */
export function containsText(text: string, part: string): boolean {
  if (part.length > maxPart) return containsLong(text, part);
  for (let from = 0; from === 0 || from < text.length; from += pieceLength) {
    if (text.slice(from, from + pieceLength + part.length - 1).includes(part)) return true;
  }
  return false;
}

/** Knuth, Morris and Pratt. */
function containsLong(text: string, part: string): boolean {
  if (part.length > text.length) return false;
  /** Of each prefix of the part, the length of the longest shorter prefix that it ends with. */
  const borders = new Uint32Array(part.length);
  for (let index = 1, border = 0; index < part.length; index++) {
    border = extended(part, borders, border, part.charCodeAt(index));
    borders[index] = border;
  }
  for (let index = 0, matched = 0; index < text.length; index++) {
    matched = extended(part, borders, matched, text.charCodeAt(index));
    if (matched === part.length) return true;
  }
  return false;
}

/** The length of the longest prefix that ends with the next character, given that of the one before. */
function extended(part: string, borders: Uint32Array, matched: number, code: number): number {
  let length = matched;
  while (length > 0 && part.charCodeAt(length) !== code) length = borders[length - 1] ?? 0;
  return part.charCodeAt(length) === code ? length + 1 : 0;
}
