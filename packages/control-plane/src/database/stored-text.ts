const unstorable = /[%\0\p{Surrogate}]/gu;

/**
 * Text of any characters as every database keeps it: U+0000, lone surrogates and the percent sign become `%` and four
 * hexadecimal digits. Equal texts, and no others, are equal in this form.
 */
export function storedText(text: string): string {
  return text.replace(unstorable, (found) => `%${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The text that {@link storedText} was given. */
export function originalText(stored: string): string {
  return stored.replace(/%([0-9a-f]{4})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
