import { mainShard } from "@heddle/control-plane";
import type { ControlPlane, Lease } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { copyProject, defaultDatabase, deleteCopy } from "@heddle/trace-store";
import type { IdleDatabase, MovedTable } from "@heddle/trace-store";
import { splitProject } from "../access/project-id.js";
import { ConfigError } from "../config/config-error.js";
import type { Config } from "../config/config.js";
import { holderOf, shardLeaseName, writerLeaseName } from "./writer-lease.js";

/**
 * Puts a project into another tracing database while this process has the leases of both. Throws {@link ConfigError} for
 * names that are none, and while a replica works on one of them.
 */
export async function moveToShard(
  config: Config,
  control: ControlPlane,
  projectId: string,
  target: string,
): Promise<MovedTable[]> {
  const name = splitProject(projectId);
  const source = name && (await control.shards.of(name.entity, name.project));
  if (name === undefined || source === undefined) throw new ConfigError(`There is no project ${projectId}.`);
  if (source === target) throw new ConfigError(`${projectId} is in ${target} already.`);
  const [from, to] = [databaseOf(config, control, source), databaseOf(config, control, target)];
  if (!(await control.shards.list()).some((shard) => shard.name === target)) {
    throw new ConfigError(
      `The tracing database ${target} was never configured for a replica: start one with it first.`,
    );
  }
  const leases: Lease[] = [];
  try {
    for (const shard of [source, target]) leases.push(await takeShard(config, control, shard));
    const moved = await copyProject(projectId, from, to);
    if (!leases.every((lease) => lease.held())) {
      throw new HeddleError("busy", "the leases of both could not be renewed: nothing was moved, try again");
    }
    await control.shards.move(name.entity, name.project, target);
    await deleteCopy(projectId, from);
    return moved;
  } finally {
    for (const lease of leases) await lease.release();
  }
}

export function databaseOf(config: Config, control: ControlPlane, shard: string): IdleDatabase {
  const { url, database } =
    shard === mainShard
      ? { url: config.clickhouseUrl, database: defaultDatabase }
      : (config.shards.find(({ name }) => name === shard) ?? {});
  if (url === undefined || database === undefined) {
    throw new ConfigError(`There is no tracing database ${shard} in HEDDLE_CLICKHOUSE_URL and HEDDLE_SHARDS.`);
  }
  const { clickhouseCluster: cluster } = config;
  return { client: { url }, database, controlPlaneId: control.identity, ...(cluster !== undefined && { cluster }) };
}

export async function takeShard(config: Config, control: ControlPlane, shard: string): Promise<Lease> {
  const name = shard === mainShard ? writerLeaseName : shardLeaseName(shard);
  const options = { holder: `heddle shards: ${holderOf(config)}`, durationMs: config.leaseMs };
  return await control.leases.acquire(name, options).catch((error: unknown) => {
    if (!(error instanceof HeddleError) || error.code !== "conflict") throw error;
    throw new ConfigError(`${error.message}. Stop the replicas first.`);
  });
}
