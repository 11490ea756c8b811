import { setTimeout as delay } from "node:timers/promises";
import { CheckFailure, CheckSkipped } from "../exchange.js";
import type { Exchange } from "../exchange.js";
import type { Operation } from "../contract.js";
import type { Fixture } from "../fixture.js";
import { readList } from "../lists.js";
import type { ListPlace } from "../lists.js";
import type { Case } from "./check.js";

interface Page {
  items: unknown[];
  exchange: Exchange;
  /** `after` of the next page; undefined after the last one. */
  next?: string | undefined;
}

/** How often a list is walked again that has changed meanwhile. */
const attempts = 4;
/** How long a list with one item may take to get a second. */
const growthMs = 15_000;
const growthPollMs = 250;
/** Pages that a list is read in, but for one that may be empty at the end. */
const pages = 4;

/** Pages hold all items of a list exactly once, in its order. */
export function pagingCases(operation: Operation, fixture: Fixture): Case[] {
  const style = styleOf(operation);
  if (style === undefined) return [];
  const run = async () => {
    for (let attempt = 1; ; attempt++) {
      const before = await readGrown(operation, fixture, style);
      if (before.length < 2) throw new CheckSkipped(`the list has ${before.length} items, too few for pages`);
      const failure = await walk(operation, fixture, style, before);
      if (failure === undefined) return;
      // Jobs may still write to what is listed: only a list that stands still is judged.
      const after = await readAll(operation, fixture, style);
      if (attempt === attempts || same(before, after)) throw failure;
    }
  };
  return [{ name: "pages", run }];
}

interface Style {
  kind: "offset" | "after";
  in: ListPlace;
}

function styleOf({ params, body, schemas, public: isPublic }: Operation): Style | undefined {
  if (isPublic) return undefined;
  const inQuery = params.filter((param) => param.in === "query").map(({ name }) => name);
  const inBody = Object.keys(body?.schema === undefined ? {} : (schemas.resolved(body.schema).properties ?? {}));
  for (const [names, location] of [
    [inQuery, "query"],
    [inBody, "body"],
  ] as const) {
    if (!names.includes("limit")) continue;
    if (names.includes("offset")) return { kind: "offset", in: location };
    if (names.includes("after")) return { kind: "after", in: location };
  }
  return undefined;
}

async function walk(
  operation: Operation,
  fixture: Fixture,
  style: Style,
  whole: readonly unknown[],
): Promise<CheckFailure | undefined> {
  const size = Math.ceil(whole.length / pages);
  const found: unknown[] = [];
  let after: string | undefined;
  let last: Exchange | undefined;
  for (let count = 0; count <= pages; count++) {
    const position = style.kind === "offset" ? { offset: found.length } : after === undefined ? {} : { after };
    const page = await readPage(operation, fixture, style, { limit: size, ...position });
    const { exchange } = page;
    last = exchange;
    if (page.items.length > size) {
      const message = `${page.items.length} items on a page of ${size}`;
      return new CheckFailure(message, { expected: `at most ${size} items`, exchange });
    }
    const at = found.length;
    found.push(...page.items);
    if (!same(found.slice(at), whole.slice(at, found.length))) {
      const message = `other items at ${at} than the whole list has there`;
      const expected = `item ${at} of the list of ${whole.length} items: ${JSON.stringify(whole[at])?.slice(0, 300)}`;
      return new CheckFailure(message, { expected, exchange });
    }
    const isLast = style.kind === "offset" ? page.items.length === 0 : page.next === undefined;
    if (isLast) {
      if (found.length === whole.length) return undefined;
      const message = `the pages end after ${found.length} items`;
      return new CheckFailure(message, { expected: `all ${whole.length} items of the list`, exchange });
    }
    if (page.items.length === 0) {
      return new CheckFailure("an empty page that is not the last", { expected: "items or the end", exchange });
    }
    after = page.next;
  }
  const expected = `the end after ${whole.length} items in pages of ${size}`;
  return new CheckFailure("the pages do not end", { expected, exchange: last });
}

/** The list as one page, once it has several items: events of a job come one after the other. */
async function readGrown(operation: Operation, fixture: Fixture, style: Style): Promise<unknown[]> {
  const until = performance.now() + (style.kind === "after" ? growthMs : 0);
  for (;;) {
    const items = await readAll(operation, fixture, style);
    if (items.length !== 1 || performance.now() > until) return items;
    await delay(growthPollMs);
  }
}

/** The list as one page. */
async function readAll(operation: Operation, fixture: Fixture, style: Style): Promise<unknown[]> {
  const { items } = await readPage(operation, fixture, style, style.kind === "after" ? { limit: 100 } : {});
  return items;
}

async function readPage(
  operation: Operation,
  fixture: Fixture,
  style: Style,
  position: Record<string, unknown>,
): Promise<Page> {
  const { items, value, exchange } = await readList(operation, fixture, style.in, position);
  if (Array.isArray(value)) return { items, exchange };
  const record = value as Record<string, unknown>;
  const last = (items.at(-1) as { id?: unknown } | undefined)?.id;
  const next =
    record["has_more"] === false ? undefined : (record["last_id"] ?? record["next"] ?? (record["has_more"] && last));
  return { items, exchange, ...(typeof next === "string" && { next }) };
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
