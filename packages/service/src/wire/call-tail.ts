import type { ResponseSchemas } from "@heddle/server-stub/tracing";
import type { TailEvent } from "@heddle/trace-store";
import { wireCallRow } from "./call-row.js";

/** An event of a tail as the wire shows it; `nameOf` looks up the name of a user, where names were asked for. */
export async function wireTailEvent(
  event: TailEvent,
  nameOf: (userId: string) => Promise<string | undefined>,
): Promise<ResponseSchemas["CallTailEvent"]> {
  const { kind } = event;
  const seq = String(event.seq);
  if (kind === "caught_up") return { seq, kind };
  if (kind === "gap") return { seq, kind, from: String(event.from) };
  const { id, feedback_id, call } = event;
  const name = call?.user_id === undefined ? undefined : await nameOf(call.user_id);
  return {
    seq,
    kind,
    id,
    ...(feedback_id !== undefined && { feedback_id }),
    ...(call && { call: wireCallRow(call, name) }),
  };
}
