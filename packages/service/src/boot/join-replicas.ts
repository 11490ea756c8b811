import cluster from "node:cluster";
import { setTimeout as delay } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import type { HttpServer } from "@heddle/server-stub";
import { listen } from "@heddle/server-stub/node";
import type { Listening } from "@heddle/server-stub/node";
import { checkOneNode } from "@heddle/trace-store";
import type { Config } from "../config/config.js";
import { behindProxies } from "../http/behind-proxies.js";
import { operatorLine } from "../operations/outages.js";
import { Follower } from "../replicas/follower.js";
import { acceptHops } from "../replicas/hop.js";
import { wholeMessages } from "../replicas/kept-request.js";
import { Membership } from "../replicas/members.js";
import { withScope } from "../limits/with-scope.js";
import { isStoreCall, serveStores } from "../shards/serve-stores.js";
import { leaving } from "../shards/shard-place.js";
import { shardedStore } from "../shards/sharded-store.js";
import { Shards } from "../shards/shards.js";
import { wholeRequests } from "../shards/whole-requests.js";
import { Closing } from "./closing.js";
import { keepShards } from "./keep-shards.js";
import type { Base } from "./open-base.js";
import { openInstallation, openWork } from "./open-installation.js";
import type { Installation, InstallationOptions } from "./open-installation.js";
import { openBlobs, openTraces } from "./open-traces.js";
import { openSockets } from "./open-sockets.js";
import type { Sockets } from "./open-sockets.js";
import { isPassing } from "./start-error.js";
import { followWriterLease, holderOf } from "./writer-lease.js";
import type { WriterLease } from "./writer-lease.js";

interface JoinOptions {
  installationOptions: InstallationOptions;
  /** By which the other replicas reach this one; the port is that of requests. */
  address: string;
}

/** When a replica stops that passes requests on: time for the responses of those that work on them. */
const passMs = 4000;
const cutMs = 1000;
/** After a database that cannot be opened. */
const retryMs = 1000;

/**
 * Listens, sends what comes to the replica that works on the traces, and becomes that one when the lease is free. Resolves
 * when requests have somebody to go to.
 */
export async function joinReplicas(
  base: Base,
  closing: Closing,
  { installationOptions, address }: JoinOptions,
): Promise<{ sockets: Sockets; replaced: Promise<string> }> {
  const { config, control, log } = base;
  // Not when this replica takes a database over: requests wait then.
  const urls = new Set([config.clickhouseUrl, ...config.shards.map(({ url }) => url)]);
  await Promise.all(Array.from(urls, async (url) => await checkOneNode({ url }, config.clickhouseCluster)));
  const follower = new Follower(control);
  const shards = config.shards.length === 0 ? undefined : new Shards(control, config.shards);
  const hops = acceptHops(control, {
    direct: follower.server,
    forwarded: follower.forwarded,
    whole: follower.whole,
  });
  const { maxResponseBytes: maxBytes } = config.limits;
  const stores = shards && withScope(serveStores(control, shards, hops), { memory: base.memory, maxBytes });
  const http: HttpServer = async (request) =>
    await (stores !== undefined && isStoreCall(request) ? stores : hops)(request);
  const sockets = await openSockets(base, {
    http: stores === undefined ? hops : http,
    grpc: wholeMessages(follower.server),
  });
  /** What is left of a start that fails before this replica has joined: another one may follow. */
  const unjoined = new Closing();
  closing.add(async () => await unjoined.close());
  unjoined.add(async () => await sockets.close(0));
  const own = cluster.isWorker ? await listenToReplicas(http, config) : sockets;
  const url = urlOf(address, own.port);
  if (own !== sockets) unjoined.add(async () => await own.close(0));
  const membership = await Membership.begin(control.leases, { holder: holderOf(config), address: url }, config.leaseMs);
  unjoined.add(async () => await membership.end());
  const ending = new AbortController();
  const opened = new Closing();
  unjoined.add(async () => await opened.close());
  /** What this replica has while it has the lease. */
  const leased = new Closing();
  const isAtWork = (server: HttpServer) => follower.isWriter(behindProxies(server, config.trustedProxies));
  /** What works at every replica; without shards the one that has the lease opens it. */
  const shared = shards && (await openShared(base, opened, { shards, membership }, installationOptions));
  let installation: Pick<Installation, "drain"> | undefined = shared?.work;
  if (shards !== undefined && shared !== undefined)
    follower.worksLocally(behindProxies(shared.work.server, config.trustedProxies), wholeRequests(shards));

  let isWriter = false;
  /** The lease, when this replica can have it; undefined when it stops before. */
  const follow = async (onHolder: () => void) =>
    await followWriterLease(config, control, {
      address: url,
      log: (line) => log.warn(line),
      signal: ending.signal,
      onHolder(writer) {
        const { holder, address: where = "no address: it has no HEDDLE_REPLICA_ADDRESS" } = writer;
        log.info(`Requests go to ${holder} (${where})`);
        follower.writerIs(writer);
        shards?.first.isAt(writer.address);
        onHolder();
      },
    });

  /** Opens what the lease gives; returns what responds and begins then. */
  async function open(lease: WriterLease): Promise<{ server: HttpServer; begin: () => Promise<void> }> {
    const leasedAt = performance.now();
    follower.opens();
    if (shards === undefined || shared === undefined) {
      const started = await openInstallation(base, lease, leased, installationOptions);
      installation = started;
      return started;
    }
    const { prices } = installationOptions;
    // Others may have changed where projects are while they had it.
    shards.homes.forgetAll();
    const { store } = await openTraces(base, lease, leased, {
      prices,
      blobs: shared.blobs,
      // Clients wait for it.
      onOpen(traces) {
        leased.add(async () => await shards.first.leave(leaving));
        shards.first.isHere(traces, lease, leasedAt);
      },
    });
    base.observability.metrics?.watch({
      store,
      engine: undefined,
      jobs: control.jobs,
      workingMemory: base.memory,
    });
    return { server: shared.work.server, begin: async () => await shared.work.begin(lease, leased) };
  }

  /** The lease, once this replica works on the traces; undefined when it stops before. */
  async function work(onHolder: () => void): Promise<WriterLease | undefined> {
    for (;;) {
      const lease = await follow(onHolder);
      if (lease === undefined) return undefined;
      leased.add(() => lease.release());
      // A replica that ended because a store does not respond now would leave its clients without any.
      const opening = await open(lease).catch((error: unknown) => (isPassing(error) ? error : Promise.reject(error)));
      if (!(opening instanceof HeddleError)) {
        isAtWork(opening.server);
        await opening.begin();
        isWriter = true;
        log.info("This replica works on the traces");
        return lease;
      }
      // Another replica may reach it.
      log.error(`the tracing database cannot be opened, trying again: ${operatorLine(opening)}`);
      await leased.close();
      await delay(retryMs, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  }

  let isFollowing = () => {};
  const followed = new Promise<void>((resolve) => (isFollowing = resolve));
  const working = work(isFollowing);
  if (shards !== undefined) base.observability.metrics?.watchShards({ shards, members: membership });
  const keeping = shards && keepShards(base, shards, { address: url, membership, prices: installationOptions.prices });
  unjoined.clear();
  closing.add(async () => {
    ending.abort();
    shards?.beginEnd();
    // The others then take what this one leaves, as their share.
    const left = membership.end();
    const drained = async () => {
      await working.catch(() => undefined);
      await installation?.drain();
    };
    // Where the stores are not those of its own requests alone, the others go on before the last of them has its response.
    const handOver = async () => {
      await working.catch(() => undefined);
      if (shared === undefined) await drained();
      else await shared.work.endJobs();
      await leased.close();
    };
    await Promise.all([keeping?.stop(), shared && drained(), handOver()]);
    await Promise.all(
      [sockets, ...(own === sockets ? [] : [own])].map((each) =>
        each.close(isWriter && shards === undefined ? cutMs : passMs),
      ),
    );
    await opened.close();
    shards?.close();
    await left;
  });
  await Promise.race([followed, working]);
  return { sockets, replaced: working.then(untilReplaced, reasonOf) };
}

/** What works on the stores of all shards, wherever they are. */
async function openShared(
  base: Base,
  opened: Closing,
  { shards, membership }: { shards: Shards; membership: Membership },
  options: InstallationOptions,
) {
  const blobs = await openBlobs(base, opened);
  const onDeleted = async (projectId: string) => await shards.forgetProject(projectId);
  const replicas = () => membership.live();
  const work = await openWork(
    base,
    opened,
    { store: shardedStore(shards), blobs },
    { ...options, onDeleted, replicas },
  );
  return { work, blobs };
}

/** Workers of one machine share the port of requests: each has another one by which the others reach it. */
async function listenToReplicas(server: HttpServer, { bodyMemoryBytes, limits }: Config): Promise<Listening> {
  return await listen(server, {
    exclusive: true,
    maxBodyBytesInFlight: bodyMemoryBytes,
    stallMs: limits.responseStallMs,
  });
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
