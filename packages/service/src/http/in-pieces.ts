import { JsonPieces } from "@heddle/server-stub";

/** Parts of a list, or members of an object, in one piece of text. */
const pieceParts = 1024;

/** A list of a response whose text is made while it is written, so that a long one does not keep others waiting. */
export function listInPieces<Item>(items: Item[]): Item[];
/** The same of a list of what `itemOf` makes. */
export function listInPieces<From, Item>(items: From[], itemOf: (from: From) => Item): Item[];
export function listInPieces(items: unknown[], itemOf = (item: unknown) => item): unknown[] {
  const text = (part: readonly unknown[]) => JSON.stringify(part.map((item) => itemOf(item))).slice(1, -1);
  return inPieces(items, ["[", "]"], text) as unknown as unknown[];
}

/** The same of an object with many members. */
export function membersInPieces<Value>(object: Record<string, Value>): Record<string, Value> {
  const text = (part: ReadonlyArray<[string, Value]>) => JSON.stringify(Object.fromEntries(part)).slice(1, -1);
  return inPieces(Object.entries(object), ["{", "}"], text) as unknown as Record<string, Value>;
}

function inPieces<Part>(
  parts: readonly Part[],
  [open, close]: readonly [string, string],
  textOf: (part: readonly Part[]) => string,
): JsonPieces {
  const length = (textOf(parts.slice(0, pieceParts)).length * parts.length) / Math.min(parts.length, pieceParts);
  return new JsonPieces(Math.ceil(length || 0), function* () {
    for (let from = 0; from < parts.length; from += pieceParts) {
      yield (from === 0 ? open : ",") + textOf(parts.slice(from, from + pieceParts));
    }
    yield parts.length === 0 ? open + close : close;
  });
}
