/** Characters that Python's `str.strip` removes and `\s` of its patterns matches, for a class of a pattern. */
export const whiteSpace = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

const isSpace = new RegExp(`[${whiteSpace}]`);

// Loops, because a pattern such as `\s+$` takes quadratic time for white space that is not at the end.

export function withoutLeadingSpace(text: string): string {
  let start = 0;
  while (start < text.length && isSpace.test(text.charAt(start))) start++;
  return text.slice(start);
}

export function withoutTrailingSpace(text: string): string {
  let end = text.length;
  while (end > 0 && isSpace.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
