/*
 * Times are bigint microseconds since 1970-01-01 UTC. A Date holds milliseconds only and would lose what clients send.
 */

const earliest = BigInt(Date.UTC(1900, 0, 1)) * 1000n;
const afterLatest = BigInt(Date.UTC(2300, 0, 1)) * 1000n;

const isoPattern =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,18}))?)?(Z|z|[+-]\d\d(?::?\d\d)?)?)?$/;

/** Seconds since 1970 end here, in the year 2603, which cannot be stored; larger numbers are milliseconds. */
const afterSeconds = 2e10;

/**
 * Reads a wire time: ISO 8601 text (a naive one is UTC, digits beyond microseconds are cut) or unix seconds, above
 * 2e10 milliseconds, as a number or numeric text. Undefined when it is none of these. The range is not checked, see
 * `isStorableTime`.
 */
export function parseTime(value: string | number): bigint | undefined {
  if (typeof value === "number") return fromNumber(value);
  const match = isoPattern.exec(value);
  if (!match) return /^-?\d+(?:\.\d*)?$/.test(value) ? fromNumber(Number(value)) : undefined;
  const [, year, month, day, hour = "0", minute = "0", second = "0", fraction = "", zone] = match;
  const days = new Date(0);
  days.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (days.getUTCMonth() !== Number(month) - 1 || days.getUTCDate() !== Number(day)) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const offset = offsetMinutes(zone);
  if (offset === undefined) return undefined;
  const seconds = days.getTime() / 1000 + Number(hour) * 3600 + (Number(minute) - offset) * 60 + Number(second);
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.slice(0, 6).padEnd(6, "0"));
}

/** Whether the time lies in the years 1900 to 2299, which is what the store can hold. */
export function isStorableTime(us: bigint): boolean {
  return us >= earliest && us < afterLatest;
}

/** `2026-04-10T09:00:00.000000Z` */
export function formatTime(us: bigint): string {
  const whole = Number(us);
  const exact = Number.isSafeInteger(whole);
  let second = exact ? Math.floor(whole / 1e6) : Number(us / 1_000_000n);
  let micros = exact ? whole - second * 1e6 : Number(us % 1_000_000n);
  if (micros < 0) {
    second -= 1;
    micros += 1_000_000;
  }
  if (second !== lastSecond.second) {
    lastSecond = { second, text: new Date(second * 1000).toISOString().slice(0, -4) };
  }
  return `${lastSecond.text}${String(micros).padStart(6, "0")}Z`;
}

/** Times that are written one after another are mostly of one second. */
let lastSecond = { second: 0, text: "1970-01-01T00:00:00." };

/** Microseconds of a nanosecond time, cut like everywhere else. */
export function fromNanoseconds(ns: bigint): bigint {
  return ns / 1000n;
}

function fromNumber(value: number): bigint | undefined {
  if (!Number.isFinite(value)) return undefined;
  const perUnit = value > afterSeconds ? 1000 : 1_000_000;
  const whole = Math.floor(value);
  return BigInt(whole) * BigInt(perUnit) + BigInt(Math.round((value - whole) * perUnit));
}

function offsetMinutes(zone: string | undefined): number | undefined {
  if (zone === undefined || zone === "Z" || zone === "z") return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3).replace(":", "") || "0");
  if (minutes >= 24 * 60) return undefined;
  return zone.startsWith("-") ? -minutes : minutes;
}
