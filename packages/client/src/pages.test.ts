import { expect, test } from "vitest";
import { readPages } from "./pages.js";

const events = Array.from({ length: 45 }, (_, index) => ({ id: `e${index}` }));

function service(pageSize: number, asked: (string | null | undefined)[]) {
  return async ({ after }: { after?: string | null; limit?: number }) => {
    asked.push(after);
    const from = after ? events.findIndex(({ id }) => id === after) + 1 : 0;
    const data = events.slice(from, from + pageSize);
    return { data, has_more: from + pageSize < events.length };
  };
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

test("every item comes once, over as many pages as it takes", async () => {
  const asked: (string | null | undefined)[] = [];
  expect(await collect(readPages(service(20, asked), undefined))).toEqual(events);
  expect(asked).toEqual([undefined, "e19", "e39"]);
});

test("a list can be resumed after the last item seen", async () => {
  expect(await collect(readPages(service(20, []), { after: "e43" }))).toEqual([{ id: "e44" }]);
});

test("leaving the loop asks for no further page", async () => {
  const asked: (string | null | undefined)[] = [];
  for await (const { id } of readPages(service(20, asked), {})) if (id === "e3") break;
  expect(asked).toEqual([undefined]);
});

test("an empty page ends the list even when more is promised", async () => {
  expect(await collect(readPages(async () => ({ data: [], has_more: true }), {}))).toEqual([]);
});
