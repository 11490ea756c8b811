import { expect, test } from "vitest";
import { CallPages } from "./call-pages.js";
import type { Page, PageStart } from "./call-pages.js";

interface Row {
  id: string;
  seq: string;
}

/** A service with calls, newest first; cursors are ids. */
function service(count: number) {
  const calls: Row[] = Array.from({ length: count }, (_, index) => ({ id: `c${count - index}`, seq: "1" }));
  const sent: PageStart[] = [];
  const read = ({ limit, ...start }: PageStart & { limit: number }): Promise<Page<Row>> => {
    sent.push(start);
    const { after, before, at_time } = start;
    const at = calls.findIndex(({ id }) => id === (after ?? before ?? at_time));
    const end = before === undefined ? calls.length : before === "end" ? calls.length : at;
    const from = before === undefined ? (after === undefined ? Math.max(0, at) : at + 1) : Math.max(0, end - limit);
    const page = calls.slice(from, before === undefined ? from + limit : end);
    const hasMore = before === undefined ? from + page.length < calls.length : from > 0;
    return Promise.resolve({ calls: page, next: page.at(-1)?.id, previous: page[0]?.id, has_more: hasMore, seq: "1" });
  };
  return { calls, sent, read, pages: new CallPages<Row>(read) };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
const ids = ({ pages }: ReturnType<typeof service>) =>
  Array.from({ length: pages.state().count }, (_, index) => pages.row(index)?.id);

test("three pages ahead of the reader are read, one after another", async () => {
  const opened = service(2000);
  opened.pages.want(0, 30);
  await settled();
  expect(opened.pages.state()).toMatchObject({ count: 800, hasAfter: true, hasBefore: false, loading: false });
  expect(ids(opened)).toEqual(opened.calls.slice(0, 800).map(({ id }) => id));
  opened.pages.want(500, 530);
  await settled();
  expect(opened.pages.state().count).toBe(1200);
});

test("from the end pages are read upwards, and what is on the page knows how far it moved", async () => {
  const opened = service(2000);
  opened.pages.want(0, 10);
  await settled();
  await opened.pages.jump("last");
  expect(opened.pages.state()).toMatchObject({ count: 200, hasAfter: false, hasBefore: true });
  opened.pages.want(0, 30);
  await settled();
  expect(opened.pages.state()).toMatchObject({ hasBefore: true });
  expect(ids(opened)).toEqual(opened.calls.slice(-opened.pages.state().count).map(({ id }) => id));
  expect(opened.pages.state().prepended).toBe(opened.pages.state().count - 200);
  expect(opened.pages.indexOf("c1")).toBe(opened.pages.state().count - 1);
  expect(opened.pages.indexOf("c200")).toBe(opened.pages.state().count - 200);
});

test("new calls are counted and wait; changed ones are replaced where they are", async () => {
  const opened = service(10);
  opened.pages.want(0, 10);
  await settled();
  opened.calls.unshift({ id: "new2", seq: "3" }, { id: "new1", seq: "2" });
  opened.calls[4] = { id: "c8", seq: "4" };
  opened.calls[5] = { id: "c7", seq: "0" };
  await opened.pages.look(new AbortController().signal);
  expect(opened.pages.state()).toMatchObject({ count: 10, newer: 2, newerIsLeast: false });
  expect([opened.pages.row(2), opened.pages.row(3)]).toEqual([
    { id: "c8", seq: "4" },
    { id: "c7", seq: "1" },
  ]);
  await opened.pages.jump("first");
  expect(ids(opened).slice(0, 3)).toEqual(["new2", "new1", "c10"]);
  expect(opened.pages.state().newer).toBe(0);
});

test("the first call of a selection that was empty is shown at once", async () => {
  const opened = service(0);
  opened.pages.want(0, 10);
  await settled();
  expect(opened.pages.state()).toMatchObject({ count: 0, hasAfter: false });
  opened.calls.push({ id: "first", seq: "1" });
  await opened.pages.look(new AbortController().signal);
  expect(ids(opened)).toEqual(["first"]);
});

test("a search that ends early waits until the reader goes on", async () => {
  const page = { has_more: false, seq: "1", previous: "p" };
  const answers: Page<Row>[] = [
    { ...page, calls: [], next: "a", search: { complete: false, searched_to: "2026-01-02T00:00:00Z" } },
    { ...page, calls: [{ id: "found", seq: "1" }], next: "b", search: { complete: true } },
  ];
  const starts: PageStart[] = [];
  const pages = new CallPages<Row>(({ limit: _limit, ...start }) => {
    starts.push(start);
    return Promise.resolve(answers.shift()!);
  });
  pages.want(0, 10);
  await settled();
  expect(pages.state()).toMatchObject({ count: 0, searchedTo: "2026-01-02T00:00:00Z" });
  pages.want(0, 10);
  pages.goOn();
  await settled();
  expect([pages.row(0)?.id, pages.state().searchedTo, pages.state().hasAfter]).toEqual(["found", undefined, false]);
  expect(starts).toEqual([{}, { after: "a" }]);
});

test("after an error nothing is read until somebody tries again", async () => {
  let fails = true;
  const { read } = service(5);
  const pages = new CallPages<Row>((start, _signal) => (fails ? Promise.reject(new Error("down")) : read(start)));
  pages.want(0, 10);
  await settled();
  expect(pages.state()).toMatchObject({ error: new Error("down"), count: 0 });
  pages.want(0, 10);
  const again = pages.retry();
  // The message does not vanish while another try goes on.
  expect(pages.state()).toMatchObject({ error: new Error("down"), loading: true });
  await again;
  expect(pages.state()).toMatchObject({ error: new Error("down"), loading: false });
  fails = false;
  await pages.retry();
  expect(pages.state()).toMatchObject({ error: undefined, count: 5 });
});

test("what is tried again is what failed, deep in a table", async () => {
  const { read } = service(1000);
  let fails = false;
  const pages = new CallPages<Row>((start, _signal) => (fails ? Promise.reject(new Error("down")) : read(start)));
  pages.want(0, 10);
  await settled();
  fails = true;
  pages.want(700, 730);
  await settled();
  expect(pages.state()).toMatchObject({ error: new Error("down"), count: 800 });
  fails = false;
  await pages.retry();
  await settled();
  expect(pages.state()).toMatchObject({ error: undefined, count: 1000 });
});

test("a table that is left while it is read is read where it is shown again, without a failure", async () => {
  const { read } = service(5);
  const signals: AbortSignal[] = [];
  const pages = new CallPages<Row>((start, signal) => {
    signals.push(signal);
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
      if (signals.length > 1) resolve(read(start));
    });
  });
  pages.want(0, 10);
  pages.close();
  await settled();
  expect(signals[0]?.aborted).toBe(true);
  expect(pages.state()).toMatchObject({ loading: false, error: undefined });
  pages.want(0, 10);
  await settled();
  expect(pages.state()).toMatchObject({ error: undefined, count: 5 });
});
