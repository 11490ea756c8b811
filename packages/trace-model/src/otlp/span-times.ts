import { HeddleError } from "@heddle/errors";
import { stringValue } from "@heddle/exact-json";
import { fromNanoseconds, isStorableTime, parseTime } from "../time.js";
import { senderAttributes } from "./sender-attributes.js";
import { first, sources } from "./sources.js";
import type { SpanData } from "./sources.js";
import type { Sources } from "./source-path.js";
import type { Span } from "./traces.js";

const startTimes = sources(...senderAttributes.started_at);
const endTimes = sources(...senderAttributes.ended_at);

interface SpanTimes {
  startedAt: bigint;
  endedAt: bigint;
  /** What was not taken over, and why. */
  problem?: string;
}

/**
 * When a span started and ended. A missing time is that of the other end, else when the span was received; no span ends
 * before it starts. Throws `invalid` when its times cannot be stored.
 */
export function spanTimes(span: Span, data: SpanData, receivedAt: bigint): SpanTimes {
  const [start, end] = [overriddenTime(startTimes, data), overriddenTime(endTimes, data)];
  const problem = start.problem ?? end.problem;
  const startedAt = (start.time ?? span.start_us) || (end.time ?? span.end_us) || receivedAt;
  const endedAt = (end.time ?? span.end_us) || startedAt;
  if (!isStorableTime(startedAt) || !isStorableTime(endedAt)) {
    throw new HeddleError("invalid", `span ${span.name}: its times are ${outside}`);
  }
  if (endedAt < startedAt) return { startedAt, endedAt: startedAt, problem: problem ?? "it ends before it starts" };
  return problem === undefined ? { startedAt, endedAt } : { startedAt, endedAt, problem };
}

const outside = "outside the years 1900 to 2299";

/** ISO text, unix nanoseconds as a whole number, or unix seconds with a fraction. */
function overriddenTime(candidates: Sources, data: SpanData): { time?: bigint; problem?: string } {
  const hit = first(candidates, data);
  if (hit === undefined) return {};
  const value = stringValue(hit.value) ?? hit.value;
  const time = /^\d{14,20}$/.test(value) ? fromNanoseconds(BigInt(value)) : parseTime(value);
  if (time === undefined) return { problem: `attribute ${hit.name} is not a time` };
  return isStorableTime(time) ? { time } : { problem: `attribute ${hit.name} is ${outside}` };
}
