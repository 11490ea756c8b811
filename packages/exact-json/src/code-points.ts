/** Whether the text has at most so many characters. A character is a code point, as in the schemas of the spec. */
export function hasAtMost(text: string, characters: number): boolean {
  if (text.length <= characters) return true;
  // A code point is at most two units: longer texts are not counted.
  return text.length <= 2 * characters && characterCount(text) <= characters;
}

/** How many code points a text has. */
export function characterCount(text: string): number {
  let pairs = 0;
  for (const _ of text.matchAll(/[\ud800-\udbff][\udc00-\udfff]/g)) pairs++;
  return text.length - pairs;
}

/** The first characters of a text, none of them cut in half. */
export function firstCharacters(text: string, characters: number): string {
  return text.length <= characters
    ? text
    : Array.from(text.slice(0, 2 * characters))
        .slice(0, characters)
        .join("");
}

/**
 * Orders strings by code point, which is also the order of their UTF-8 bytes. JavaScript's own order differs where
 * one side is a surrogate pair and the other is above U+DFFF.
 */
export function compareCodePoints(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) {
    if (a.charCodeAt(index) === b.charCodeAt(index)) continue;
    const previous = index > 0 ? a.charCodeAt(index - 1) : 0;
    const start = previous >= 0xd800 && previous <= 0xdbff ? index - 1 : index;
    return (a.codePointAt(start) ?? 0) - (b.codePointAt(start) ?? 0);
  }
  return a.length - b.length;
}
