import { HeddleError } from "@heddle/errors";

/**
 * Refuses a page that nobody can have asked for: below `least` rows, a negative offset, or numbers beyond 2^53, which
 * the engine does not take. Throws `invalid`.
 */
export function checkPage(page: { limit?: number; offset?: number }, least = 0): void {
  check("limit", page.limit, least);
  check("offset", page.offset, 0);
}

function check(name: "limit" | "offset", value: number | undefined, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
  throw new HeddleError("invalid", `${name} must be at least ${least} and at most 2^53 - 1`, { loc: [name] });
}
