const whole = new Intl.NumberFormat("en");
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** `1204551` → `1,204,551`; nothing for what is not known. */
export const count = (value: number | null | undefined): string =>
  value === null || value === undefined ? "" : whole.format(value);

/** With three digits: `0.0123`. */
export const cost = (value: number | null | undefined): string =>
  value === null || value === undefined ? "" : three.format(value);

/** `812 ms`, `4.1 s`, `6 m 12 s`, `2 h 5 m`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "";
  if (ms < 999.5) return `${three.format(ms)} ms`;
  if (ms < 59_950) return `${three.format(ms / 1000)} s`;
  const minutes = Math.floor(Math.round(ms / 1000) / 60);
  return minutes < 60
    ? `${minutes} m ${Math.round(ms / 1000) % 60} s`
    : `${whole.format(Math.floor(minutes / 60))} h ${minutes % 60} m`;
}

/** A time of the interface to the second, UTC: `2026-11-27 09:41:07`. */
export const time = (text: string | null | undefined): string => text?.slice(0, 19).replace("T", " ") ?? "";

/** `1.2 kB`, three digits. */
export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  const power = Math.min(4, Math.floor(Math.log10(size) / 3));
  return `${three.format(size / 1000 ** power)} ${["kB", "MB", "GB", "TB"][power - 1]}`;
}

/** What an exception says in one line: those of SDKs are JSON with type and message. */
export function exceptionLine(text: string): string {
  try {
    const { type, message } = JSON.parse(text) as { type?: unknown; message?: unknown };
    if (typeof message === "string") return typeof type === "string" ? `${type}: ${message}` : message;
  } catch {
    // Plain text, or the beginning of a long one.
  }
  return text;
}
