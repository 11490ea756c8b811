import { cpus, loadavg, platform, release, totalmem } from "node:os";

/** The machine of the measurement, and its load. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const load = loadavg().map((value) => value.toFixed(1));
  return (
    `${cpus().length} × ${cpu?.model ?? "unknown CPU"}, ${Math.round(totalmem() / 2 ** 30)} GiB, ` +
    `${platform()} ${release()}, Node ${process.version}, load ${load.join(" ")}, ${new Date().toISOString().slice(0, 16)}Z`
  );
}

/** The value that `share` (0 to 1) of the values do not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Rounds to three significant digits; integers from 100 on. */
export function short(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}

export const megabytes = (bytes: number): number => Math.round(bytes / 1e6);

/** The text after `--name` on the command line. */
export function text(name: string, otherwise: string): string {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? otherwise : (process.argv[at + 1] ?? otherwise);
}

/** The number after `--name` on the command line. */
export function option(name: string, otherwise: number): number {
  const at = process.argv.indexOf(`--${name}`);
  const value = at === -1 ? otherwise : Number(process.argv[at + 1]);
  if (!Number.isFinite(value) || value <= 0) throw new Error(`--${name} needs a number above 0`);
  return value;
}
