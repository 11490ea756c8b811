import { JsonPieces } from "@heddle/server-stub";

/** Items of one piece of text. */
const pieceItems = 2048;

/** A list of a response whose text is made while it is written, so that a long one does not keep others waiting. */
export function listInPieces<Item extends string | number | null>(items: Item[]): Item[] {
  if (items.length <= pieceItems) return items;
  const first = JSON.stringify(items.slice(0, pieceItems)).length;
  return new JsonPieces((first * items.length) / pieceItems, () => pieces(items)) as unknown as Item[];
}

function* pieces(items: readonly (string | number | null)[]): Generator<string> {
  for (let from = 0; from < items.length; from += pieceItems) {
    const text = JSON.stringify(items.slice(from, from + pieceItems)).slice(1, -1);
    yield `${from === 0 ? "[" : ","}${text}`;
  }
  yield "]";
}
