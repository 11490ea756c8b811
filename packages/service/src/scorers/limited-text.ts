import { HeddleError } from "@heddle/errors";

/** Returns the text; throws `too_large` when it is longer than a scorer can compare. */
export function limitedText(text: string, maxLength: number, name: string): string {
  if (text.length <= maxLength) return text;
  throw new HeddleError("too_large", `"${name}" is longer than ${maxLength} characters`);
}
