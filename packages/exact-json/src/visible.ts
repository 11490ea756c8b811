import type { JsonText } from "./scan.js";

/** Characters that cannot be seen, move the cursor of terminals, or turn the direction of what follows. */
const hidden =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200B\u200E\u200F\u202A-\u202E\u2028\u2029\u2060\u2066-\u206F\uFEFF\u{E0000}-\u{E007F}]/gu;

/** Text of users with what cannot be seen in it by its code, so that a text is never other than it looks: `⟨1B⟩[31m`. */
export const visibleText = (text: string): string =>
  text.replaceAll(hidden, (character) => `⟨${codeOf(character).toString(16).toUpperCase().padStart(2, "0")}⟩`);

/** The same in one line. */
export const visibleLine = (text: string): string => visibleText(text.replaceAll(/\r?\n/g, "↵")).replaceAll("\t", "⇥");

/** A JSON document of the same value in one line, in which all that cannot be seen is escaped: `"\u001b[31m"`. */
export const visibleJson = (text: JsonText): JsonText =>
  text.replaceAll(/[\t\n\r]+/g, " ").replaceAll(hidden, (character) =>
    Array.from({ length: character.length }, (_, at) => {
      const code = character.charCodeAt(at).toString(16);
      return `\\u${code.padStart(4, "0")}`;
    }).join(""),
  );

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;
