import { Problem } from "@heddle/server-stub";
import { isStorableTime, parseTime } from "@heddle/trace-model";

/** A time of a request in microseconds since 1970 UTC, or a 422 that names its place. */
export function wireTime(value: string | number, loc: readonly (string | number)[]): bigint {
  const time = parseTime(value);
  if (time === undefined) throw fault(loc, "must be an ISO 8601 date-time or unix seconds");
  if (!isStorableTime(time)) throw fault(loc, "must be between the years 1900 and 2299");
  return time;
}

function fault(loc: readonly (string | number)[], msg: string): Problem {
  return Problem.invalid([{ loc: [...loc], msg, type: "value_error" }]);
}
