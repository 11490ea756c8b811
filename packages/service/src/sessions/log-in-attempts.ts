import { isIPv6 } from "node:net";
import { Problem } from "@heddle/server-stub";

const periodMs = 60_000;
const most = 10;
/** Addresses that are counted. */
const remembered = 10_000;

/** Counts log-ins that fail, by address: ten a minute. */
export class LogInAttempts {
  readonly #now: () => number;
  /** When the attempts of a period began, oldest first. */
  readonly #periods = new Map<string, { began: number; count: number }>();

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Counts an attempt before it is known whether it fails. Throws a problem of 429 for one too many. Returns what takes
   * it back when it succeeds.
   */
  begin(address: string | undefined): () => void {
    const now = this.#now();
    const name = networkOf(address ?? "");
    let period = this.#periods.get(name);
    if (period === undefined || now - period.began >= periodMs) {
      period = { began: now, count: 0 };
      this.#forgetOld(now);
      this.#periods.delete(name);
      this.#periods.set(name, period);
    }
    const counted = period;
    if (counted.count >= most) {
      const seconds = Math.max(1, Math.ceil((counted.began + periodMs - now) / 1000));
      const headers = { "retry-after": String(seconds) };
      throw new Problem(429, `More than ${most} attempts to log in failed within a minute`, { headers });
    }
    counted.count++;
    return () => void counted.count--;
  }

  /** Periods that are over; where there are too many others, those that began first. */
  #forgetOld(now: number): void {
    for (const [name, { began }] of this.#periods) {
      if (now - began < periodMs && this.#periods.size < remembered) return;
      this.#periods.delete(name);
    }
  }
}

/** One customer of IPv6 has at least all addresses with the same first half. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [front = "", back] = address.split("%", 1)[0]?.split("::") ?? [];
  const groups = front === "" ? [] : front.split(":");
  if (back !== undefined) {
    const missing = 8 - groups.length - (back === "" ? 0 : back.split(":").length);
    groups.push(...Array<string>(Math.max(0, missing)).fill("0"), ...(back === "" ? [] : back.split(":")));
  }
  return groups.slice(0, 4).join(":");
}
