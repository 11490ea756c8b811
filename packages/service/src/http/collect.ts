import { RawJson } from "@heddle/server-stub";
import { reserveForResponse } from "../limits/request-scope.js";

/** Reads a stream to its end: the list form, with a `limit`, of an operation that can also stream. */
export async function collect<Item extends object>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const reserve = reserveForResponse(["limit"]);
  const items: Item[] = [];
  for await (const item of stream) {
    await reserve(sizeOf(item));
    items.push(item);
  }
  return items;
}

/** Of an object without its texts. */
const objectSize = 200;

function sizeOf(item: object): number {
  let size = objectSize;
  for (const value of Object.values(item)) {
    if (typeof value === "string") size += value.length;
    else if (value instanceof RawJson) size += value.text.length;
  }
  return size;
}
