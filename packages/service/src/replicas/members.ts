import { randomUUID } from "node:crypto";
import type { Lease, Leases, ListedLease } from "@heddle/control-plane";

const prefix = "replica ";
/** In the duration of a lease. */
const looks = 40;
/** Between two looks: when one leaves, the others take over what it had. */
const mostLookMs = 100;
/** A replica that ended without a word is forgotten when it has not counted on for so long. */
const forgetMs = 60_000;

interface Sighting {
  beat: bigint;
  /** Monotonic, when it was seen to have counted on. */
  at: number;
}

/** This process among the replicas of an installation. */
export class Membership {
  readonly #leases: Leases;
  readonly #lease: Lease;
  readonly #timer: NodeJS.Timeout;
  readonly #durationMs: number;
  /** By the token of its lease. */
  #seen = new Map<string, Sighting>();

  constructor(leases: Leases, lease: Lease, durationMs: number) {
    this.#leases = leases;
    this.#lease = lease;
    this.#durationMs = durationMs;
    this.#timer = setInterval(() => void this.#look().catch(() => undefined), Math.min(mostLookMs, durationMs / looks));
    this.#timer.unref();
  }

  /** How many replicas were seen to count on lately, this one among them. */
  live(): number {
    const now = performance.now();
    const count = [...this.#seen.values()].filter(({ at }) => now - at < this.#durationMs).length;
    return Math.max(1, count);
  }

  static async begin(
    leases: Leases,
    self: { holder: string; address: string },
    durationMs: number,
  ): Promise<Membership> {
    return new Membership(leases, await leases.acquire(prefix + randomUUID(), { ...self, durationMs }), durationMs);
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#lease.release();
  }

  async #look(): Promise<void> {
    const seen = new Map<string, Sighting>();
    const listed = await this.#leases.list(prefix);
    const now = performance.now();
    for (const lease of listed) {
      const { token, beat } = lease;
      const before = this.#seen.get(token);
      if (before?.beat === beat && now - before.at > forgetMs) await this.#leases.forget(lease);
      else seen.set(token, before?.beat === beat ? before : { beat, at: now });
    }
    this.#seen = seen;
  }
}

/** A lease, and how long ago its holder was seen to count on; undefined where that was not seen. */
export interface WatchedLease extends ListedLease {
  lagMs: number | undefined;
}

/** The leases of the replicas of an installation, and those whose names begin with `others`; watched as {@link watch} does. */
export async function watchMembers(
  leases: Leases,
  others: string,
  watchMs: number,
): Promise<{ members: WatchedLease[]; others: WatchedLease[] }> {
  const watched = await watch(leases, [prefix, others], watchMs);
  const named = (begin: string) => watched.filter(({ name }) => name.startsWith(begin));
  return { members: named(prefix), others: named(others) };
}

/** For `watchMs`, or until all have counted on. No clocks are compared. */
async function watch(leases: Leases, prefixes: readonly string[], watchMs: number): Promise<WatchedLease[]> {
  const end = performance.now() + watchMs;
  const seen = new Map<string, Sighting>();
  /** Those that were seen to count on, or to be new. */
  const live = new Set<string>();
  for (let isFirst = true; ; isFirst = false) {
    const listed = (await leases.list("")).filter(({ name }) => prefixes.some((begin) => name.startsWith(begin)));
    const now = performance.now();
    for (const { token, beat } of listed) {
      if (seen.get(token)?.beat === beat) continue;
      seen.set(token, { beat, at: now });
      if (!isFirst) live.add(token);
    }
    if (now >= end || listed.every(({ token }) => live.has(token))) {
      return listed.map((lease) => ({
        ...lease,
        lagMs: live.has(lease.token) ? now - (seen.get(lease.token)?.at ?? now) : undefined,
      }));
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
