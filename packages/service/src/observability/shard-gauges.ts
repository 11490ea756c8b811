import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { Shards } from "../shards/shards.js";

/** Of a replica: what it works on of the tracing databases, and what it asks the others for. */
export interface ShardSources {
  shards: Pick<Shards, "places" | "stores">;
  /** Replicas that were seen to live. */
  members: { live(): number };
}

/** Metrics that are read at each scrape. */
export function shardGaugesOf({ shards, members }: ShardSources, registry: Registry): void {
  const perShard = (name: string, help: string, read: (shard: string) => number | undefined) =>
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: ["shard"],
        registers: [],
        collect() {
          for (const shard of shards.places.keys()) {
            const value = read(shard);
            if (value !== undefined) this.set({ shard }, value);
          }
        },
      }),
    );
  perShard("heddle_shard_owned", "Whether this replica works on a tracing database.", (shard) =>
    shards.places.get(shard)?.own === undefined ? 0 : 1,
  );
  perShard(
    "heddle_shard_forwarded_calls",
    "Calls of the stores of other replicas since the start, by the tracing database that they are for.",
    (shard) => shards.stores.get(shard)?.forwarded,
  );
  perShard(
    "heddle_shard_takeover_seconds",
    "From when this replica had the lease of a tracing database until it worked on it, the last time.",
    (shard) => shards.places.get(shard)?.takeoverSeconds,
  );
  perShard(
    "heddle_shard_lease_age_seconds",
    "Since the control plane has confirmed the lease by which this replica writes a tracing database.",
    (shard) => shards.places.get(shard)?.leaseAgeSeconds,
  );
  registry.registerMetric(
    new Gauge({
      name: "heddle_replicas_live",
      help: "Replicas of the installation that were seen to live, as this one sees them.",
      registers: [],
      collect() {
        this.set(members.live());
      },
    }),
  );
}
