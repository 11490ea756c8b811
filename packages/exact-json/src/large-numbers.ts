/** Searching for a run and looking around it is several times faster than one expression for all of it. */
const digits = /\d{3,}/g;

/**
 * Whether a number in the text may be too large for a double or a 64-bit integer: it has an exponent of three digits,
 * or 19 digits in a row. Text inside a string that looks like such a number after `:`, `,`, `[` or a space counts too.
 */
export function hasLargeNumbers(text: string): boolean {
  digits.lastIndex = 0;
  while (digits.test(text)) {
    const to = digits.lastIndex;
    let from = to - 3;
    while (isDigit(text.charCodeAt(from - 1))) from--;
    if ((to - from >= 19 || isExponent(text, from)) && isNumber(text, from)) return true;
  }
  return false;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Whether the digits from `from` on are a positive exponent. */
function isExponent(text: string, from: number): boolean {
  const before = text.charCodeAt(from - 1);
  const mark = before === 43 ? text.charCodeAt(from - 2) : before;
  return mark === 69 || mark === 101;
}

/**
 * Whether the token with these digits begins where a number can. Ids of hexadecimal digits do not: a quote precedes
 * them. It looks back a little only, since a text may be made of nothing else.
 */
function isNumber(text: string, from: number): boolean {
  let before = from - 1;
  while (before >= from - 64 && "0123456789.eE+-".includes(text[before] ?? "")) before--;
  return before < Math.max(0, from - 64) || ":,[ \n\r\t".includes(text[before] ?? "");
}
