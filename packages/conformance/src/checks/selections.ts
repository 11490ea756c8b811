import { CheckFailure, CheckSkipped } from "../exchange.js";
import type { Exchange } from "../exchange.js";
import type { Operation } from "../contract.js";
import { valueAt } from "../expressions.js";
import { readList } from "../lists.js";
import type { ListPlace } from "../lists.js";
import { checkResponse } from "../response-check.js";
import type { Fixture } from "../fixture.js";
import type { Case } from "./check.js";

/** What a list of an operation is chosen and sorted by. */
interface Selector {
  /** Pointer to what its items have. */
  member: string;
  in?: ListPlace;
  /** What the list is told to choose a value. */
  choose?: Readonly<Record<string, (value: unknown) => Record<string, unknown>>>;
  /** What it may be sorted by. */
  sortBy?: string;
}

const filter = (name: string) => (value: unknown) => ({ filter: { [name]: [value] } });
const query = (field: string) => (value: unknown) => ({
  query: { $expr: { $eq: [{ $getField: field }, { $literal: value }] } },
});

const calls: readonly Selector[] = [
  { member: "/id", choose: { "filter call_ids": filter("call_ids"), "query $eq": query("id") }, sortBy: "id" },
  { member: "/op_name", choose: { "filter op_names": filter("op_names"), "query $eq": query("op_name") } },
  { member: "/trace_id", choose: { "filter trace_ids": filter("trace_ids") } },
  { member: "/started_at", sortBy: "started_at" },
];
const rows: readonly Selector[] = [
  { member: "/digest", choose: { "filter row_digests": filter("row_digests") } },
  { member: "/val/question", sortBy: "question" },
];
const selectors: Readonly<Record<string, readonly Selector[]>> = {
  callsQuery: calls,
  callsQueryStream: calls,
  callsPage: calls,
  objsQuery: [
    { member: "/object_id", choose: { "filter object_ids": filter("object_ids") }, sortBy: "object_id" },
    { member: "/created_at", sortBy: "created_at" },
  ],
  tableQuery: rows,
  tableQueryStream: rows,
  costQuery: [{ member: "/llm_id", choose: { "query $eq": query("llm_id") }, sortBy: "llm_id" }],
  feedbackQuery: [
    { member: "/id", choose: { "query $eq": query("id") } },
    { member: "/feedback_type", choose: { "query $eq": query("feedback_type") }, sortBy: "feedback_type" },
  ],
  threadsQueryStream: [
    { member: "/thread_id", choose: { "filter thread_ids": filter("thread_ids") }, sortBy: "thread_id" },
  ],
  annotationQueuesQueryStream: [{ member: "/name", choose: { name: (name) => ({ name }) }, sortBy: "name" }],
  annotationQueueItemsQuery: [{ member: "/call_started_at", sortBy: "call_started_at" }],
  evaluationRunList: [
    {
      member: "/evaluation_run_id",
      in: "query",
      choose: { evaluation_run_ids: (value) => ({ evaluation_run_ids: value }) },
    },
  ],
  listArtifacts: [{ member: "/type", in: "query", choose: { type: (type) => ({ type }) } }],
};

/** Operations that count what others list. */
const counts: Readonly<Record<string, { list: string; member: string }>> = {
  callsQueryStats: { list: "callsQuery", member: "/count" },
};

/** What a request selects is all that the list has of it and nothing else, and the list is sorted as it asks. */
export function selectionCases(operation: Operation, fixture: Fixture): Case[] {
  const counted = counts[operation.id];
  const listed = counted === undefined ? operation : fixture.operation(counted.list);
  return (selectors[listed.id] ?? []).flatMap((selector) => {
    const { member, choose = {}, sortBy } = selector;
    const chosen = Object.entries(choose).map(([name, request]) => ({
      name: `${name} of ${member.slice(1)}`,
      run: async () => expectChosen({ operation, listed, counted, fixture, selector, request }),
    }));
    if (sortBy === undefined || counted !== undefined) return chosen;
    return [
      ...chosen,
      { name: `sorted by ${sortBy}`, run: async () => expectSorted(operation, fixture, selector, sortBy) },
    ];
  });
}

interface Chosen {
  operation: Operation;
  /** The list, which the operation may only count. */
  listed: Operation;
  counted: { member: string } | undefined;
  fixture: Fixture;
  selector: Selector;
  request: (value: unknown) => Record<string, unknown>;
}

async function expectChosen({ operation, listed, counted, fixture, selector, request }: Chosen): Promise<void> {
  const { member, in: place = "body" } = selector;
  const { items: all } = await readList(listed, fixture, place, {});
  const values = valuesOf(all, member);
  const wanted = values[0];
  const count = values.filter((value) => value === wanted).length;
  if (count === all.length) throw new CheckSkipped(`all ${count} items have the same ${member.slice(1)}`);
  const expected = `the ${count} items whose ${member.slice(1)} is ${JSON.stringify(wanted)}`;
  const asked = request(wanted);
  if (counted !== undefined) {
    const exchange = await fixture.send(operation, { body: { project_id: fixture.own.projectId, ...asked } });
    const found = valueAt(checkResponse(operation, exchange, operation.schemas, [operation.success]), counted.member);
    if (found !== count) throw new CheckFailure(`${String(found)} items`, { expected, exchange });
    return;
  }
  const { items, exchange } = await readList(operation, fixture, place, asked);
  const found = valuesOf(items, member);
  if (found.length !== items.length || found.some((value) => value !== wanted)) {
    throw new CheckFailure("items that were not asked for", { expected, exchange });
  }
  if (found.length < count) throw new CheckFailure(`${found.length} items`, { expected, exchange });
}

async function expectSorted(
  operation: Operation,
  fixture: Fixture,
  { member, in: place = "body" }: Selector,
  field: string,
): Promise<void> {
  const ends: unknown[] = [];
  let last: Exchange | undefined;
  for (const direction of ["asc", "desc"] as const) {
    const { items, exchange } = await readList(operation, fixture, place, { sort_by: [{ field, direction }] });
    const values = valuesOf(items, member);
    if (new Set(values).size < 2) throw new CheckSkipped(`all items have the same ${member.slice(1)}`);
    const sign = direction === "asc" ? 1 : -1;
    const wrong = values.findIndex((value, index) => index > 0 && sign * compare(values[index - 1], value) > 0);
    if (wrong !== -1) {
      const message = `${JSON.stringify(values[wrong])} after ${JSON.stringify(values[wrong - 1])}`;
      throw new CheckFailure(message, { expected: `${member.slice(1)} sorted ${direction}`, exchange });
    }
    ends.push(values[0]);
    last = exchange;
  }
  if (ends[0] === ends[1]) {
    throw new CheckFailure("the same order in both directions", { expected: "two orders", exchange: last });
  }
}

/** The values that items have there; not of those that have none. */
function valuesOf(items: readonly unknown[], member: string): unknown[] {
  return items.map((item) => valueAt(item, member)).filter((value) => value !== undefined && value !== null);
}

/** Numbers by size, times by what they mean, other texts by their characters. */
function compare(a: unknown, b: unknown): number {
  const [left, right] = [a, b].map((value) => (typeof value === "number" ? value : comparable(String(value))));
  if (left === undefined || right === undefined || left === right) return 0;
  return left < right ? -1 : 1;
}

/** A time as digits to the microsecond, so that texts are sorted as times are. */
function comparable(text: string): string {
  const [, seconds, fraction = ""] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)$/.exec(text) ?? [];
  return seconds === undefined ? text : `${seconds}.${fraction.padEnd(9, "0")}`;
}
