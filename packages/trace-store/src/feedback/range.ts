import { HeddleError } from "@heddle/errors";
import { refSpellings } from "@heddle/trace-model";
import type { Parameters } from "../engine/parameters.js";
import { checkTime } from "../stats/stats.js";
import type { FeedbackRange } from "./requests.js";

/** Which feedback in a range of time. */
export interface FeedbackSelection extends FeedbackRange {
  end: bigint;
  feedback_type?: string;
  /** A ref, or one that ends in `:*` for all its versions. */
  trigger_ref?: string;
}

/** Throws `invalid` for a range that is empty, or that the engine cannot hold. */
export function checkRange({ start, end }: FeedbackSelection): void {
  checkTime(start, "start");
  checkTime(end, "end");
  if (end <= start) throw new HeddleError("invalid", "end must be after start", { loc: ["end"] });
}

/** The condition of a range. */
export function inRange(p: Parameters, selection: FeedbackSelection): string {
  const { project_id, start, end, feedback_type: type, trigger_ref: trigger } = selection;
  return [
    `project_id = ${p.bind("String", project_id)}`,
    `created_at >= ${p.time(start)} AND created_at < ${p.time(end)}`,
    ...(type === undefined ? [] : [`type = ${p.bind("String", type)}`]),
    ...(trigger === undefined ? [] : [triggeredBy(p, trigger)]),
  ].join(" AND ");
}

function triggeredBy(p: Parameters, ref: string): string {
  const texts = refSpellings(ref);
  if (!ref.endsWith(":*")) return p.in("trigger_ref", "String", texts);
  const tests = texts.map((text) => `startsWith(trigger_ref, ${p.bind("String", text.slice(0, -1))})`);
  return `(${tests.join(" OR ")})`;
}
