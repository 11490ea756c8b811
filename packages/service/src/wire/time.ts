import { HeddleError } from "@heddle/errors";
import { isStorableTime, parseTime } from "@heddle/trace-model";

/** Returns the time of a field in microseconds since 1970 UTC. Throws `unprocessable` with the field as loc. */
export function wireTime(value: string | number, field: string): bigint {
  const time = parseTime(value);
  if (time === undefined)
    throw invalidTime(field, "must be an ISO 8601 date-time, or seconds or milliseconds since 1970");
  if (!isStorableTime(time)) throw invalidTime(field, "must be between the years 1900 and 2299");
  return time;
}

function invalidTime(field: string, message: string): HeddleError {
  return new HeddleError("unprocessable", message, { loc: [field] });
}
