import type { CallsPageReq } from "@heddle/client/tracing";
import { UsageError } from "./command.js";

/** Which calls a command is about, as its options. */
export const selectionOptions = {
  project: { type: "string", short: "p" },
  op: { type: "string", multiple: true },
  status: { type: "string", multiple: true },
  since: { type: "string" },
  until: { type: "string" },
  search: { type: "string" },
  roots: { type: "boolean", default: false },
  query: { type: "string" },
} as const;

export const selectionUsage = `  -p, --project [ENTITY/]NAME
                    the project; not needed where the key can read one only
  --op NAME         calls of this op, in all its versions; may be repeated
  --status STATUS   success, error, running or descendant_error; may be repeated
  --since TIME      calls that started then or later: 15m, 2h or 7d ago, or 2026-11-27T09:00 (UTC)
  --until TIME      calls that started earlier
  --search TEXT     calls that have these words; "in quotes" for a contiguous text
  --roots           only calls without a parent
  --query JSON      a condition of the interface, as {"$expr": …}`;

interface SelectionValues {
  op?: string[] | undefined;
  status?: string[] | undefined;
  since?: string | undefined;
  until?: string | undefined;
  search?: string | undefined;
  roots?: boolean | undefined;
  query?: string | undefined;
}

type Selection = Pick<CallsPageReq, "filter" | "query" | "search">;
type Condition = NonNullable<CallsPageReq["query"]>["$expr"];

const statuses = ["success", "error", "running", "descendant_error"];

/** The conditions of the interface. Throws {@link UsageError}, with `usage`, for values that are not valid. */
export function selectionOf(values: SelectionValues, usage: string, now: number = Date.now()): Selection {
  const conditions: Condition[] = [];
  if (values.query !== undefined) conditions.push(conditionOf(values.query, usage));
  if (values.status !== undefined) {
    const wrong = values.status.find((status) => !statuses.includes(status));
    if (wrong !== undefined)
      throw new UsageError(`--status must be one of ${statuses.join(", ")}, not "${wrong}"`, usage);
    conditions.push({
      $in: [{ $getField: "summary.weave.status" }, values.status.map((status) => ({ $literal: status }))],
    });
  }
  const startedAt = { $getField: "started_at" };
  if (values.since !== undefined)
    conditions.push({ $gte: [startedAt, { $literal: timeOf("--since", values.since, now, usage) }] });
  if (values.until !== undefined)
    conditions.push({ $lt: [startedAt, { $literal: timeOf("--until", values.until, now, usage) }] });
  return {
    filter: { ...(values.op && { op_names: values.op }), ...(values.roots && { trace_roots_only: true }) },
    ...(conditions.length > 0 && { query: { $expr: { $and: conditions } } }),
    ...(values.search !== undefined && { search: { text: values.search } }),
  };
}

function conditionOf(text: string, usage: string): Condition {
  try {
    const { $expr } = JSON.parse(text) as { $expr?: Condition };
    if ($expr !== undefined) return $expr;
  } catch {
    // Said below.
  }
  throw new UsageError('--query must be JSON as {"$expr": {"$eq": [{"$getField": "…"}, {"$literal": "…"}]}}', usage);
}

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

function timeOf(option: string, text: string, now: number, usage: string): string {
  const [, amount, unit = ""] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (amount !== undefined) return new Date(now - Number(amount) * (units[unit] ?? 0) * 1000).toISOString();
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return text;
  throw new UsageError(`${option} must be 15m, 2h or 7d ago, or a time as 2026-11-27T09:00Z, not "${text}"`, usage);
}

/** A whole number from `least` on. */
export function wholeNumber(option: string, text: string, usage: string, least = 1): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`${option} must be a whole number from ${least} on, not "${text}"`, usage);
}
