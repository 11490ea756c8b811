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

export interface Member {
  holder: string;
  address: string | undefined;
  /** Whether it was seen to count on. */
  responds: boolean;
}

/** The replicas of an installation, which are watched for `watchMs`, or until all have counted on. */
export async function listMembers(leases: Leases, watchMs: number): Promise<Member[]> {
  const first = await leases.list(prefix);
  let last = first;
  const end = performance.now() + watchMs;
  while (performance.now() < end && last.some((lease) => wasSeen(first, lease))) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    last = await leases.list(prefix);
  }
  return last.map((lease) => ({
    holder: lease.holder,
    address: lease.address,
    responds: !wasSeen(first, lease),
  }));
}

const wasSeen = (seen: readonly ListedLease[], { token, beat }: ListedLease): boolean =>
  seen.some((each) => each.token === token && each.beat === beat);
