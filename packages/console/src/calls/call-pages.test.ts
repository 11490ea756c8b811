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

/** A search that takes a few looks: what each finds, and whether it is the last. */
function searched(...found: string[][]) {
  const starts: PageStart[] = [];
  const pages = new CallPages<Row>(({ limit: _limit, ...start }) => {
    const look = starts.push(start);
    const calls = (found[look - 1] ?? []).map((id) => ({ id, seq: "1" }));
    const search =
      look < found.length ? { complete: false, searched_to: `2026-01-0${look}T00:00:00Z` } : { complete: true };
    const cursor = `c${look}`;
    return Promise.resolve({ calls, next: cursor, previous: cursor, has_more: false, seq: "1", search });
  });
  return { pages, starts, ids: () => Array.from({ length: pages.state().count }, (_, index) => pages.row(index)?.id) };
}

test("a search that found nothing yet looks further by itself, until it has looked everywhere", async () => {
  const { pages, starts, ids } = searched([], ["a"], [], ["b"]);
  const said: (string | undefined)[] = [];
  pages.subscribe(() => said.push(pages.state().searchedTo));
  pages.want(0, 10);
  await settled();
  expect(ids()).toEqual(["a", "b"]);
  expect(starts).toEqual([{}, { after: "c1" }, { after: "c2" }, { after: "c3" }]);
  expect(pages.state()).toMatchObject({ searchedTo: undefined, isStopped: false, hasAfter: false, loading: false });
  // How far it has looked is said meanwhile.
  expect([...new Set(said)]).toEqual([
    undefined,
    "2026-01-01T00:00:00Z",
    "2026-01-02T00:00:00Z",
    "2026-01-03T00:00:00Z",
  ]);
});

test("from the oldest call on it looks further, too", async () => {
  const { pages, starts, ids } = searched([], ["b"], ["a"]);
  await pages.jump("last");
  expect(pages.state()).toMatchObject({ count: 0, isBackwards: true, searchedTo: "2026-01-01T00:00:00Z" });
  pages.want(0, 10);
  await settled();
  expect(ids()).toEqual(["a", "b"]);
  expect(starts).toEqual([{ before: "end" }, { before: "c1" }, { before: "c2" }]);
});

test("a search that found enough looks further where the reader comes near its end", async () => {
  const many = Array.from({ length: 100 }, (_, index) => `r${index}`);
  const { pages, starts } = searched(many, [], ["last"]);
  pages.want(0, 30);
  await settled();
  expect([starts.length, pages.state().count]).toEqual([1, 100]);
  expect(pages.state()).toMatchObject({ searchedTo: "2026-01-01T00:00:00Z", loading: false });
  pages.want(60, 90);
  await settled();
  expect(pages.state()).toMatchObject({ count: 101, searchedTo: undefined });
});

test("who stops a search goes on from there", async () => {
  const { pages, starts, ids } = searched([], [], ["a"]);
  pages.want(0, 10);
  pages.stop();
  await settled();
  pages.want(0, 10);
  await settled();
  expect(pages.state()).toMatchObject({ isStopped: true, loading: false, error: undefined });
  expect(starts.length).toBe(1);
  pages.goOn();
  await settled();
  expect(ids()).toEqual(["a"]);
});

test("a search that finds nothing many times waits for the reader", async () => {
  const { pages, starts } = searched(...Array.from({ length: 100 }, () => []));
  pages.want(0, 10);
  await settled();
  expect(starts.length).toBe(30);
  expect(pages.state()).toMatchObject({ isStopped: true, loading: false });
  pages.goOn();
  await settled();
  expect(starts.length).toBe(60);
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
