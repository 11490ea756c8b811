/** Characters that cannot be seen, move the cursor of terminals, or turn the direction of what follows. */
const hidden =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200B\u200E\u200F\u202A-\u202E\u2028\u2029\u2060\u2066-\u2069\uFEFF]/g;

/** Text of users with what cannot be seen in it by its code, so that a text is never other than it looks: `⟨1B⟩[31m`. */
export const visibleText = (text: string): string =>
  text.replaceAll(hidden, (character) => `⟨${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}⟩`);

/** The same in one line. */
export const visibleLine = (text: string): string => visibleText(text.replaceAll(/\r?\n/g, "↵")).replaceAll("\t", "⇥");
