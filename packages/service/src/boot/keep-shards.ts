import { setTimeout as delay } from "node:timers/promises";
import type { Price, TraceStore } from "@heddle/trace-store";
import type { ShardSetting } from "../config/kinds.js";
import { operatorLine } from "../operations/outages.js";
import type { Membership } from "../replicas/members.js";
import { leaving } from "../shards/shard-place.js";
import type { Shards } from "../shards/shards.js";
import type { Base } from "./open-base.js";
import { openLeased, projectsIn } from "./open-traces.js";
import { followWriterLease, shardLeaseName } from "./writer-lease.js";
import type { WriterLease } from "./writer-lease.js";

interface KeepOptions {
  /** Where the other replicas reach this one. */
  address: string;
  membership: Membership;
  prices: readonly Price[];
}

/** Time for what only makes the next start quicker. */
const closeMs = 100;
/** After a database that cannot be opened. */
const retryMs = 1000;

/**
 * Works on the shards besides the first, as long as this replica has their leases. They are spread evenly over the replicas:
 * one that has more than its share gives one away at a time.
 */
export function keepShards(base: Base, shards: Shards, options: KeepOptions): { stop(): Promise<void> } {
  const { config, log } = base;
  const ending = new AbortController();
  const fairShare = () => Math.ceil(shards.places.size / options.membership.live());
  let pendingOpens = 0;
  /** Ends the work on each shard that this replica works on. */
  const working = new Map<string, () => void>();

  async function keep(shard: ShardSetting): Promise<void> {
    const place = shards.places.get(shard.name);
    if (place === undefined) return;
    while (!ending.signal.aborted) {
      const lease = await followWriterLease(config, base.control, {
        name: shardLeaseName(shard.name),
        address: options.address,
        log: (line) => log.warn(line),
        signal: ending.signal,
        wants: () => shards.owned() + pendingOpens < fairShare(),
        onHolder({ holder, address }) {
          log.info(`The tracing database ${shard.name} is worked on by ${holder}`);
          place.isAt(address);
        },
      });
      if (lease === undefined) return;
      pendingOpens += 1;
      const leasedAt = performance.now();
      const store = await open(shard, lease)
        .catch(async (error: unknown) => {
          const reason = error instanceof Error ? operatorLine(error) : String(error);
          log.error(`the tracing database ${shard.name} cannot be opened, trying again: ${reason}`);
          return undefined;
        })
        .finally(() => (pendingOpens -= 1));
      if (store !== undefined) {
        place.isHere(store, lease, leasedAt);
        log.info(`This replica works on the tracing database ${shard.name}`);
        const released = new Promise<void>((resolve) => {
          working.set(shard.name, resolve);
          if (ending.signal.aborted) resolve();
        });
        const isLost = await Promise.race([lease.replaced.then(() => true), released.then(() => false)]);
        working.delete(shard.name);
        store.callTails.endTails();
        await place.leave(isLost ? { readMs: 0, writeMs: 0 } : leaving);
        await store.close({ withinMs: closeMs });
      }
      await lease.release();
      if (store === undefined) await delay(retryMs);
    }
  }

  async function open({ name, url, database }: ShardSetting, lease: WriterLease): Promise<TraceStore> {
    // Others may have changed where projects are while they had it.
    shards.homes.forgetAll();
    const { losses } = base;
    const projects = await projectsIn(base, name);
    const store = await openLeased(base, lease, {
      shard: name,
      client: { url },
      database,
      prices: options.prices,
      onLoss: (lost) => losses.report("traces", `${name}: ${lost}`),
    });
    if (store.isNew && projects > 0) {
      losses.report(
        "traces",
        `The tracing database ${name} was empty when it met a control plane with ${projects} of its project(s)`,
      );
    }
    return store;
  }

  const balancing = setInterval(() => {
    const [name] = [...working.keys()].slice(-1);
    if (name === undefined || shards.owned() <= fairShare()) return;
    working.get(name)?.();
    working.delete(name);
  }, config.leaseMs / 6);
  balancing.unref();
  const keeping = config.shards.map(async (shard) => await keep(shard));

  return {
    async stop() {
      clearInterval(balancing);
      ending.abort();
      for (const end of working.values()) end();
      await Promise.all(keeping);
    },
  };
}
