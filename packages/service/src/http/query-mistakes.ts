import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";
import type { Detail, OperationEntry } from "@heddle/server-stub";
import { checkQuery } from "@heddle/trace-store";
import type { QueriedResource } from "@heddle/trace-store";
import { detailOf } from "./problems.js";

/** What the queries of these operations are of; all others are of calls. */
const resources: Readonly<Record<string, QueriedResource | "none">> = {
  feedbackQuery: "feedback",
  costQuery: "prices",
  // They allow less than a query.
  feedbackPurge: "none",
  costPurge: "none",
};

/** Parts of a request that say which rows it is about. */
const parts = ["filter", "query", "sort_by", "search", "expand_columns"] as const;

/**
 * What is wrong with the query of a request that does not fit its schema elsewhere: unknown fields, times that are none. It is
 * otherwise found when the query is run, which a client would learn only once all else is right.
 */
export function queryMistakes(
  { id, ...operation }: OperationEntry,
  body: unknown,
  details: readonly Detail[],
): Detail[] {
  const resource = resources[id] ?? "calls";
  if (resource === "none" || !isJsonObject(body)) return [];
  const [at, selection] = isJsonObject(body["calls"]) ? [["calls"], body["calls"]] : [[], body];
  if (!isJsonObject(selection["query"])) return [];
  const isWrong = (part: string) =>
    details.some(({ loc }) => [...at, part].every((step, index) => loc[index + 1] === step));
  const request = Object.fromEntries(
    parts.filter((part) => selection[part] !== undefined && !isWrong(part)).map((part) => [part, selection[part]]),
  );
  try {
    checkQuery(resource, request);
    return [];
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    const mistakes = error.all.filter(({ code }) => code === "invalid" || code === "unprocessable");
    return mistakes.map((mistake) => detailOf(mistake.within(at), { id, ...operation }));
  }
}
