import { HeddleError } from "@heddle/errors";
import { behindProxies } from "../http/behind-proxies.js";
import { operatorLine } from "../operations/outages.js";
import { Follower } from "../replicas/follower.js";
import { acceptHops } from "../replicas/hop.js";
import { wholeMessages } from "../replicas/kept-request.js";
import { Membership } from "../replicas/members.js";
import { Closing } from "./closing.js";
import type { Base } from "./open-base.js";
import { openInstallation } from "./open-installation.js";
import type { Installation, InstallationOptions } from "./open-installation.js";
import { openSockets } from "./open-sockets.js";
import type { Sockets } from "./open-sockets.js";
import { followWriterLease, holderOf } from "./writer-lease.js";
import type { WriterLease } from "./writer-lease.js";

interface JoinOptions {
  installationOptions: InstallationOptions;
  leaseMs: number | undefined;
  /** By which the other replicas reach this one; the port is that of requests. */
  address: string;
}

/** When a replica stops that works on nothing: time for the responses of the one that does. */
const passMs = 4000;
const cutMs = 1000;

/**
 * Listens, sends what comes to the replica that works on the traces, and becomes that one when the lease is free. Resolves
 * when requests have somebody to go to.
 */
export async function joinReplicas(
  base: Base,
  closing: Closing,
  { installationOptions, leaseMs, address }: JoinOptions,
): Promise<{ sockets: Sockets; replaced: Promise<string> }> {
  const { config, control, log } = base;
  const follower = new Follower(control);
  const sockets = await openSockets(base, {
    http: acceptHops(control, { direct: follower.server, forwarded: follower.forwarded }),
    grpc: wholeMessages(follower.server),
  });
  const url = urlOf(address, sockets.port);
  const membership = await Membership.begin(control.leases, { holder: holderOf(config), address: url }, leaseMs);
  const ending = new AbortController();
  const opened = new Closing();
  let installation: Installation | undefined;

  /** The lease, once this replica works on the traces; undefined when it stops before. */
  async function work(onHolder: () => void): Promise<WriterLease | undefined> {
    const lease = await followWriterLease(config, control, {
      leaseMs,
      address: url,
      log: (line) => log.warn(line),
      signal: ending.signal,
      onHolder(writer) {
        const { holder, address: where = "no address: it has no HEDDLE_REPLICA_ADDRESS" } = writer;
        log.info(`Requests go to ${holder} (${where})`);
        follower.writerIs(writer);
        onHolder();
      },
    });
    if (lease === undefined) return undefined;
    opened.add(() => lease.release());
    follower.opens();
    installation = await openInstallation(base, lease, opened, installationOptions);
    follower.isWriter(behindProxies(installation.server, config.trustedProxies));
    await installation.begin();
    log.info("This replica works on the traces");
    return lease;
  }

  let isFollowing = () => {};
  const followed = new Promise<void>((resolve) => (isFollowing = resolve));
  const working = work(isFollowing);
  closing.add(async () => {
    ending.abort();
    await working.catch(() => undefined);
    await installation?.drain();
    await sockets.close(installation === undefined ? passMs : cutMs);
    await opened.close();
    await membership.end();
  });
  await Promise.race([followed, working]);
  return { sockets, replaced: working.then(untilReplaced, reasonOf) };
}

async function untilReplaced(lease: WriterLease | undefined): Promise<string> {
  return await (lease?.replaced ?? new Promise<never>(() => {}));
}

/** Of a replica that has the lease and cannot open what it gives. */
function reasonOf(error: unknown): string {
  if (error instanceof HeddleError) return operatorLine(error);
  return error instanceof Error ? error.message : String(error);
}

function urlOf(address: string, port: number): string {
  return `http://${address.includes(":") ? `[${address}]` : address}:${port}`;
}
