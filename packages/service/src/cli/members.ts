import { parseArgs } from "node:util";
import { mainShard, openControlPlane } from "@heddle/control-plane";
import { shardLeaseName, writerLeaseName } from "../boot/writer-lease.js";
import { ConfigError } from "../config/config-error.js";
import { controlPlaneUrl, readConfig } from "../config/config.js";
import { listMembers } from "../replicas/members.js";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";

const usage = `heddle members [--json]

Lists the replicas that share HEDDLE_DATABASE_URL, or the workers of HEDDLE_WORKERS: where each is reached, whether it responds, and which tracing
databases it works on: main is that of HEDDLE_CLICKHOUSE_URL, the others have their names of HEDDLE_SHARDS. A replica that has ended without a word is listed for up to two minutes.`;

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
      const [members, worked] = await Promise.all([
        listMembers(control.leases, watchMs),
        control.leases.list(writerLeaseName),
      ]);
      const listed = members.map((member) => {
        const own = worked.filter(({ holder }) => holder === member.holder);
        const shards = own.map(({ name }) =>
          name === writerLeaseName ? mainShard : name.slice(shardLeaseName("").length),
        );
        return { ...member, works: shards.includes(mainShard), shards };
      });
      if (isJson) return print(JSON.stringify(listed));
      if (listed.length === 0) return print("No replicas. A service with HEDDLE_REPLICA_ADDRESS is one.");
      for (const { address = "", holder, responds, shards } of listed) {
        const work = shards.length === 0 ? "passes on" : `works on ${shards.join(", ")}`;
        print(`${address.padEnd(32)}  ${(responds ? "responds" : "silent").padEnd(8)}  ${work.padEnd(24)}  ${holder}`);
      }
    } finally {
      await control.close();
    }
  },
};

function readOptions(args: string[]): boolean {
  try {
    return parseArgs({ args, options: { json: { type: "boolean" } } }).values.json === true;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), usage);
  }
}
