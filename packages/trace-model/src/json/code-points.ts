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
