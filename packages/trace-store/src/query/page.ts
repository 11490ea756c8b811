import { HeddleError } from "@heddle/errors";
import type { Parameters } from "../engine/parameters.js";

/** Rows to return at most, and rows to pass over before the first. */
export interface Page {
  limit?: number;
  offset?: number;
}

/**
 * Checks a page. Refuses fewer than `least` rows, a negative offset, or numbers beyond 2^53, which
 * the engine does not accept. Throws `invalid`.
 */
export function checkPage(page: Page, least = 0): void {
  check("limit", page.limit, least);
  check("offset", page.offset, 0);
}

/** The clause of a statement that a checked page asks for, with a space before it; empty for all rows. */
export function pageClause(p: Parameters, { limit, offset = 0 }: Page): string {
  if (limit === undefined && offset === 0) return "";
  const rows = p.bind("UInt64", limit ?? Number.MAX_SAFE_INTEGER);
  return offset === 0 ? ` LIMIT ${rows}` : ` LIMIT ${rows} OFFSET ${p.bind("UInt64", offset)}`;
}

function check(name: "limit" | "offset", value: number | undefined, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
  throw new HeddleError("invalid", `${name} must be at least ${least} and at most 2^53 - 1`, { loc: [name] });
}
