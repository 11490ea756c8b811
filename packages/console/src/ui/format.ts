const whole = new Intl.NumberFormat("en");
/** In one column each has three digits. */
const exactlyThree = new Intl.NumberFormat("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** `1204551` → `1,204,551`. */
export const formatCount = (count: number): string => whole.format(count);

/** With one unit and three digits: `812 ms`, `4.10 s`; from a minute on with two units: `6 m 12 s`, `2 h 5 m`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < 0) return `−${formatDuration(-ms)}`;
  if (ms < 999.5) return `${three.format(ms)} ms`;
  if (ms < 59_950) return `${exactlyThree.format(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  for (const [size, unit, smaller, smallerUnit] of [
    [86_400, "d", 3600, "h"],
    [3600, "h", 60, "m"],
    [60, "m", 1, "s"],
  ] as const) {
    if (seconds < size) continue;
    const rest = Math.floor((seconds % size) / smaller);
    return `${Math.floor(seconds / size)} ${unit}${rest === 0 ? "" : ` ${rest} ${smallerUnit}`}`;
  }
  return "0 s";
}

/** How long ago: `now`, `41 s ago`, `2 h ago`, and from a week on the date. */
export function formatAgo(time: number, now: number): string {
  const seconds = Math.floor((now - time) / 1000);
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 7 * 86_400) return `${Math.floor(seconds / 86_400)} d ago`;
  return formatDate(time);
}

const twoDigits = (value: number): string => String(value).padStart(2, "0");

/** The day in the time zone of the reader: `2026-03-01`. */
export function formatDate(time: number): string {
  const date = new Date(time);
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
}

/** `1 call`, `2 calls`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** `1.2 kB`, three digits. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${three.format(bytes / 1000 ** power)} ${units[power - 1]}`;
}

/** The time of the day in the time zone of the reader, to the millisecond: `09:41:07.234`. */
export function formatClock(time: number): string {
  const date = new Date(time);
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":");
  return `${clock}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** As {@link formatClock}, with the date where it is another day than today. */
export function formatMoment(time: number, now: number): string {
  const date = formatDate(time);
  return date === formatDate(now) ? formatClock(time) : `${date} ${formatClock(time)}`;
}

/** An amount in the units of the prices, three digits: `0.0123`. */
export const formatCost = (cost: number): string => (cost === 0 ? "0" : exactlyThree.format(cost));
