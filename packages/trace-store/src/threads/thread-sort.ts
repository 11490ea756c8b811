import { HeddleError } from "@heddle/errors";
import { parseSort } from "@heddle/trace-model";
import type { SortKey, TypedField, ValueType } from "@heddle/trace-model";
import type { ApiSchemas } from "../api-schemas.js";

type ThreadFieldName = Exclude<keyof ApiSchemas["ThreadSchema"], "first_turn_id" | "last_turn_id">;
type ThreadField = TypedField & { name: ThreadFieldName };
export type ThreadOrder = Array<SortKey<ThreadField>>;

/** Fields that threads sort by, as expressions over the outputs of the statement. */
const fields: Readonly<Record<ThreadFieldName, { type: ValueType; sql: string }>> = {
  thread_id: { type: "text", sql: "thread_id" },
  turn_count: { type: "int", sql: "turn_count" },
  start_time: { type: "time", sql: "start_us" },
  last_updated: { type: "time", sql: "end_us" },
  p50_turn_duration_ms: { type: "double", sql: "durations_us[1]" },
  p99_turn_duration_ms: { type: "double", sql: "durations_us[2]" },
};

/** Reads a sort list; an empty one means the newest `last_updated` first. Throws `invalid` for other fields. */
export function parseThreadSort(sortBy: unknown = []): ThreadOrder {
  const keys = parseSort(sortBy, parseField);
  return keys.length > 0 ? keys : [{ field: parseField("last_updated"), direction: "desc" }];
}

/** Without the words ORDER BY; the thread id comes last, so that pages are stable. */
export function orderBy(order: ThreadOrder): string {
  const keys = order.map(({ field, direction }) => `${fields[field.name].sql} ${direction === "asc" ? "ASC" : "DESC"}`);
  return [...keys, "thread_id ASC"].join(", ");
}

function parseField(text: string): ThreadField {
  if (isFieldName(text)) return { text, name: text, type: fields[text].type };
  const known = Object.keys(fields).join(", ");
  throw new HeddleError("invalid", `sort_by cannot name ${text.slice(0, 40)}: threads sort by ${known}`, { loc: [] });
}

function isFieldName(text: string): text is ThreadFieldName {
  return Object.hasOwn(fields, text);
}
