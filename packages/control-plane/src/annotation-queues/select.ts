import { HeddleError } from "@heddle/errors";
import type { Parameters } from "../database/parameters.js";

export interface SortKey {
  field: string;
  direction: "asc" | "desc";
}

const maxSortKeys = 20;

/** Columns of an order by name, `id` last. `columns` are the names that are allowed, others are the caller's to refuse. */
export function orderBy(keys: readonly SortKey[], columns: readonly string[]): string {
  if (keys.length > maxSortKeys) {
    throw new HeddleError("invalid", `sort_by has more than ${maxSortKeys} keys`, { loc: ["sort_by"] });
  }
  const order = new Map<string, string>();
  for (const { field, direction } of keys) {
    // What a column is sorted by already cannot be sorted by it again.
    if (columns.includes(field) && !order.has(field)) order.set(field, direction === "desc" ? "DESC" : "ASC");
  }
  if (!order.has("id")) order.set("id", "ASC");
  return [...order].map(([column, direction]) => `${column} ${direction}`).join(", ");
}

/** Returns `LIMIT … OFFSET …`. Throws `invalid` for a limit below 1 or above `most`, and for a negative offset. */
export function pageOf(
  p: Parameters,
  { limit, offset = 0 }: { limit?: number; offset?: number },
  most = Number.MAX_SAFE_INTEGER,
): string {
  const check = (name: string, value: number, least: number, greatest: number) => {
    if (Number.isSafeInteger(value) && value >= least && value <= greatest) return;
    const range = `at least ${least} and at most ${greatest}`;
    throw new HeddleError("invalid", `${name} must be ${range}`, { loc: [name] });
  };
  if (limit !== undefined) check("limit", limit, 1, most);
  check("offset", offset, 0, Number.MAX_SAFE_INTEGER);
  // One row more than is allowed shows that there are too many.
  const rows = limit ?? Math.min(most + 1, Number.MAX_SAFE_INTEGER);
  return `LIMIT ${p.bind(BigInt(rows))} OFFSET ${p.bind(BigInt(offset))}`;
}
