import { randomUUID } from "node:crypto";
import type { Lease, Leases, ListedLease } from "@heddle/control-plane";

const prefix = "replica ";
/** A replica that ended without a word is forgotten when it has not counted on for so long. */
const forgetMs = 60_000;

/** This process among the replicas of an installation. */
export class Membership {
  readonly #leases: Leases;
  readonly #lease: Lease;
  readonly #timer: NodeJS.Timeout;
  #seen: readonly ListedLease[] = [];

  constructor(leases: Leases, lease: Lease) {
    this.#leases = leases;
    this.#lease = lease;
    this.#timer = setInterval(() => void this.#forgetEnded().catch(() => undefined), forgetMs);
    this.#timer.unref();
  }

  static async begin(leases: Leases, self: { holder: string; address: string }, leaseMs?: number): Promise<Membership> {
    const options = { ...self, ...(leaseMs !== undefined && { durationMs: leaseMs }) };
    return new Membership(leases, await leases.acquire(prefix + randomUUID(), options));
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#lease.release();
  }

  async #forgetEnded(): Promise<void> {
    const now = await this.#leases.list(prefix);
    for (const lease of now) if (wasSeen(this.#seen, lease)) await this.#leases.forget(lease);
    this.#seen = now;
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
