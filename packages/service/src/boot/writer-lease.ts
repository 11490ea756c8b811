import { hostname } from "node:os";
import type { ControlPlane, Lease, LeaseHolder } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { ConfigError } from "../config/config-error.js";
import type { Config } from "../config/config.js";
import { operatorLine } from "../operations/outages.js";

/** The exclusive right to write the tracing database of a control plane. */
export interface WriterLease {
  /** Whether other processes can have it before and after this one. */
  isShared: boolean;
  mayWrite(): boolean;
  /** Milliseconds since it was last renewed. */
  ageMs(): number;
  /** The callback is called when the lease could not be renewed for a while, before `mayWrite` returns true again. */
  onLapse(callback: () => void): void;
  /** Resolves with one line once another service has it. */
  replaced: Promise<string>;
  release(): Promise<void>;
}

interface LeaseOptions {
  log: (line: string) => void;
}

interface FollowOptions extends LeaseOptions {
  /** Where the other replicas reach this one. */
  address: string;
  onHolder: (holder: LeaseHolder) => void;
  /** Ends the wait. */
  signal: AbortSignal;
  /** Default: that of the first tracing database. */
  name?: string;
  /** Whether this replica takes the lease where it can; default: always. */
  wants?: () => boolean;
}

/** A control plane in the data directory needs no lease: the lock of the directory admits one process only. */
const unleased: WriterLease = {
  isShared: false,
  mayWrite: () => true,
  ageMs: () => 0,
  onLapse: () => {},
  replaced: new Promise(() => {}),
  release: async () => {},
};

export const writerLeaseName = "tracing database";
/** Of a tracing database besides the first. */
export const shardLeaseName = (shard: string): string => `${writerLeaseName} ${shard}`;

/**
 * Takes the lease. Waits HEDDLE_LEASE for a lease that is not renewed, because a holder that has crashed cannot be
 * distinguished from one that is unreachable or suspended. Throws {@link ConfigError} when another service renews it. A
 * tracing database belongs to one control plane permanently.
 */
export async function takeWriterLease(
  config: Config,
  control: ControlPlane,
  { log }: LeaseOptions,
): Promise<WriterLease> {
  const { databaseUrl, leaseMs } = config;
  if (databaseUrl === undefined) return unleased;
  const lapses = new Lapses(log);
  const lease = await control.leases
    .acquire(writerLeaseName, {
      durationMs: leaseMs,
      holder: holderOf(config),
      onWait: (holder) =>
        log(
          `the tracing database was in use by ${holder}: taking over unless it renews its lease within ${leaseMs / 1000} s`,
        ),
      ...lapses.events,
    })
    .catch((error: unknown) => {
      if (error instanceof HeddleError && error.code === "conflict") {
        throw new ConfigError(
          `${error.message}. Stop that one first: only one service writes, unless all of them have HEDDLE_REPLICA_ADDRESS.`,
        );
      }
      throw error;
    });
  return writerLease(lease, lapses);
}

/** Takes the lease when no other replica has it, however long that takes; undefined when `signal` has ended the wait. */
export async function followWriterLease(
  config: Config,
  control: ControlPlane,
  { log, name = writerLeaseName, ...following }: FollowOptions,
): Promise<WriterLease | undefined> {
  const lapses = new Lapses(log);
  const options = { durationMs: config.leaseMs, holder: holderOf(config), ...lapses.events, ...following };
  const lease = await control.leases.follow(name, options);
  return lease && writerLease(lease, lapses);
}

/** This process, or another one of this machine, in words for people. */
export const holderOf = ({ dataDir }: Pick<Config, "dataDir">, pid = process.pid): string =>
  `${hostname()} (process ${pid}, ${dataDir})`;

function writerLease(lease: Lease, lapses: Lapses): WriterLease {
  return {
    isShared: true,
    mayWrite: () => lease.held(),
    ageMs: () => lease.ageMs(),
    onLapse: (callback) => void (lapses.callback = callback),
    replaced: lease.lost.then((holder) => `the tracing database was taken over by ${holder}; this service has stopped`),
    release: () => lease.release(),
  };
}

/** What happens to a lease while it is held. */
class Lapses {
  callback = () => {};
  readonly events;

  constructor(log: (line: string) => void) {
    this.events = {
      onFailure: (error: Error) =>
        log(`the lease of the tracing database cannot be renewed, trying again: ${operatorLine(error)}`),
      onLapse: () => {
        log("the lease of the tracing database is renewed again: checking what is stored before the next write");
        this.callback();
      },
    };
  }
}
