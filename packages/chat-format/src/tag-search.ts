/** Returns the length of the longest suffix of `text` that is a prefix of `tag`. */
export function possibleTagStart(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (tag.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
}

/** Splits `text` before its trailing characters of `set`. */
export function splitTrailing(text: string, set: string): [kept: string, trailing: string] {
  let end = text.length;
  while (end > 0 && set.includes(text.charAt(end - 1))) end--;
  return [text.slice(0, end), text.slice(end)];
}
