import { rawJson } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import type { CallPageRow } from "@heddle/trace-store";

/** A row of a page as the wire shows it; `name` is that of its user, where names were asked for. */
export function wireCallRow(row: CallPageRow, name?: string): Schemas["CallRow"] {
  const { id, seq, started_at, ended_at, user_id, values, cut, feedback, ...others } = row;
  return {
    id,
    seq: String(seq),
    started_at: formatTime(started_at),
    ...others,
    ...(ended_at !== undefined && { ended_at: formatTime(ended_at) }),
    ...(user_id !== undefined && { user: { id: user_id, ...(name !== undefined && { name }) } }),
    ...(feedback !== undefined && { feedback: feedback.map(rawJson) }),
    ...(values !== undefined && { values: rawJson(values) }),
    ...(cut !== undefined && { cut: Object.fromEntries(cut) }),
  };
}
