import { parseArgs } from "node:util";
import { mainShard, openControlPlane } from "@heddle/control-plane";
import { shardLeaseName, writerLeaseName } from "../boot/writer-lease.js";
import { ConfigError } from "../config/config-error.js";
import { controlPlaneUrl, readConfig } from "../config/config.js";
import { watchMembers } from "../replicas/members.js";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";

const usage = `heddle members [--json]

Lists the replicas that share HEDDLE_DATABASE_URL, or the workers of HEDDLE_WORKERS: where each is reached, whether it responds, which tracing
databases it works on, and how many seconds ago it was seen to renew what says so: main is that of HEDDLE_CLICKHOUSE_URL, the others have their names of HEDDLE_SHARDS. A replica that has ended without a word is listed for up to two minutes.`;

/** A replica counts on every two seconds. */
const watchMs = 6000;

export const command: Command = {
  usage: () => usage,
  async run(args, { print }) {
    const isJson = readOptions(args);
    const config = readConfig();
    if (config.databaseUrl === undefined && config.workers === 1) {
      throw new ConfigError(
        "heddle members needs HEDDLE_DATABASE_URL or HEDDLE_WORKERS: what is in a data directory has one service.",
      );
    }
    const control = await openControlPlane({ url: controlPlaneUrl(config) });
    try {
      const { members, others } = await watchMembers(control.leases, writerLeaseName, watchMs);
      const listed = members.map(({ holder, address, lagMs }) => {
        const own = others.filter((lease) => lease.holder === holder);
        const lags = Object.fromEntries(own.map(({ name, lagMs: ms }) => [shardOf(name), secondsOf(ms)]));
        const shards = Object.keys(lags);
        const responds = lagMs !== undefined;
        return {
          holder,
          address,
          responds,
          lag_seconds: secondsOf(lagMs),
          works: shards.includes(mainShard),
          shards,
          shard_lag_seconds: lags,
        };
      });
      if (isJson) return print(JSON.stringify(listed));
      if (listed.length === 0) return print("No replicas. A service with HEDDLE_REPLICA_ADDRESS is one.");
      for (const { address = "", holder, responds, lag_seconds: lag, shard_lag_seconds: lags } of listed) {
        const works = Object.entries(lags).map(([shard, seconds]) => `${shard} (${ago(seconds)})`);
        const work = works.length === 0 ? "passes on" : `works on ${works.join(", ")}`;
        const state = responds ? `responds (${ago(lag)})` : "silent";
        print(`${address.padEnd(32)}  ${state.padEnd(18)}  ${work.padEnd(32)}  ${holder}`);
      }
    } finally {
      await control.close();
    }
  },
};

const shardOf = (lease: string): string =>
  lease === writerLeaseName ? mainShard : lease.slice(shardLeaseName("").length);

/** To a tenth; null where it was not seen. */
const secondsOf = (ms: number | undefined): number | null => (ms === undefined ? null : Math.round(ms / 100) / 10);

const ago = (seconds: number | null): string => (seconds === null ? `> ${watchMs / 1000} s` : `${seconds} s`);

function readOptions(args: string[]): boolean {
  try {
    return parseArgs({ args, options: { json: { type: "boolean" } } }).values.json === true;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), usage);
  }
}
