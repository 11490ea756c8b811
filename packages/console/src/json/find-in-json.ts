/** More places than a reader goes through. */
export const mostFound = 1000;

/** Where the words begin in the text of a value, whatever their case: as JSON has them, with or without escapes. */
export function findInJson(text: string, words: string): readonly number[] {
  if (words === "") return [];
  const escaped = JSON.stringify(words).slice(1, -1);
  // As programs write them that keep to ASCII.
  const ascii = escaped.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const forms = [...new Set([escaped, ascii])].map((form) => form.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
  const found: number[] = [];
  for (const { index } of text.matchAll(new RegExp(forms.join("|"), "gi"))) {
    found.push(index);
    if (found.length === mostFound) break;
  }
  return found;
}

/** Those of sorted places that are in a range. */
export function foundWithin(found: readonly number[], from: number, to: number): readonly number[] {
  const first = found.findIndex((at) => at >= from);
  if (first < 0) return [];
  const after = found.findIndex((at, index) => index >= first && at >= to);
  return found.slice(first, after < 0 ? undefined : after);
}

/** A part of a text. */
interface Piece {
  from: number;
  text: string;
  /** Whether it is the words, as they are written there. */
  isFound: boolean;
}

/** A text in pieces, by which the words in it can be marked. */
export function piecesOf(text: string, words: string): Piece[] {
  if (words === "") return [{ from: 0, text, isFound: false }];
  let from = 0;
  return text
    .split(new RegExp(`(${words.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)})`, "gi"))
    .map((piece, index) => {
      from += piece.length;
      return { from: from - piece.length, text: piece, isFound: index % 2 === 1 };
    });
}
