import { hostname } from "node:os";
import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { ConfigError } from "../config/config-error.js";
import type { Config } from "../config/config.js";
import { operatorLine } from "../operations/outages.js";

/** The exclusive right to write the tracing database of a control plane. */
export interface WriterLease {
  mayWrite(): boolean;
  /** Resolves with one line once another service has it. */
  replaced: Promise<string>;
  release(): Promise<void>;
}

interface LeaseOptions {
  /** How long another service waits for a lease that is not renewed; default 12 s. */
  leaseMs?: number;
  log: (line: string) => void;
  /** The lease could not be renewed for a while; called before `mayWrite` returns true again. */
  onLapse: () => void;
}

/** A control plane in the data directory needs no lease: the lock of the directory admits one process only. */
const unleased: WriterLease = {
  mayWrite: () => true,
  replaced: new Promise(() => {}),
  release: async () => {},
};

const usualLeaseMs = 12_000;

/**
 * Takes the lease. Waits `leaseMs` for a lease that is not renewed, because a holder that has crashed cannot be
 * distinguished from one that is unreachable or suspended. Throws {@link ConfigError} when another service renews it. A
 * tracing database belongs to one control plane permanently, so one lease per control plane is enough.
 */
export async function takeWriterLease(
  config: Config,
  control: ControlPlane,
  { leaseMs = usualLeaseMs, log, onLapse }: LeaseOptions,
): Promise<WriterLease> {
  if (config.databaseUrl === undefined) return unleased;
  const lease = await control.leases
    .acquire("tracing database", {
      durationMs: leaseMs,
      holder: `${hostname()} (process ${process.pid}, ${config.dataDir})`,
      onWait: (holder) =>
        log(
          `the tracing database was in use by ${holder}: taking over unless it renews its lease within ${leaseMs / 1000} s`,
        ),
      onFailure: (error) =>
        log(`the lease of the tracing database cannot be renewed, trying again: ${operatorLine(error)}`),
      onLapse() {
        log("the lease of the tracing database is renewed again: checking what is stored before the next write");
        onLapse();
      },
    })
    .catch((error: unknown) => {
      if (error instanceof HeddleError && error.code === "conflict") {
        throw new ConfigError(`${error.message}. Stop that one first: only one service writes.`);
      }
      throw error;
    });
  return {
    mayWrite: () => lease.held(),
    replaced: lease.lost.then((holder) => `the tracing database was taken over by ${holder}; this service has stopped`),
    release: () => lease.release(),
  };
}
