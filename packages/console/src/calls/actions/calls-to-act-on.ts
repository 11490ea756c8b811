import type { SortBy } from "@heddle/client/tracing";
import type { CallSelection } from "../calls-search.js";

/** The most that the service acts on at a time. */
export const mostAtOnce = 10_000;

/** What an action is on: the first of an order, and how many match as somebody has seen it. */
export interface CallsToActOn extends CallSelection {
  expected_count: number;
  sort_by: SortBy[];
  limit: number;
}
