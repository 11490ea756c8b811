import { eventItem } from "@heddle/server-stub";
import type { EventItem } from "@heddle/server-stub";
import type { ResponseSchemas } from "@heddle/server-stub/tracing";
import type { TailItem } from "@heddle/trace-store";
import { wireCallRow } from "./call-row.js";

type WireEvent = ResponseSchemas["CallTailEvent"];

/**
 * An event of a tail as the wire shows it. Only one up to which everything was sent has an id, after which a client goes on.
 * `nameOf` looks up the name of a user, where names were asked for.
 */
export async function wireTailItem(
  { event, isComplete }: TailItem,
  nameOf: (userId: string) => Promise<string | undefined>,
): Promise<WireEvent | EventItem<WireEvent>> {
  const wire = await wireEvent(event, nameOf);
  return isComplete ? eventItem(wire.seq, wire) : wire;
}

async function wireEvent(
  event: TailItem["event"],
  nameOf: (userId: string) => Promise<string | undefined>,
): Promise<WireEvent> {
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
