import { mainShard } from "@heddle/control-plane";
import type { ControlPlane, Lease } from "@heddle/control-plane";
import { readControlPlane } from "@heddle/trace-store";
import { splitProject } from "../access/project-id.js";
import type { Config } from "../config/config.js";
import { databaseOf, takeShard } from "./move-to-shard.js";

/** What was noted of a tracing database. */
export interface Accepted {
  shard: string;
  /** Ids of projects of which it has something, and which the control plane did not know. */
  projects: string[];
}

/**
 * Lets a control plane that was restored go on with tracing databases that have gone on since, while no replica works on them.
 * Projects that it does not know are noted where they are. What else was in it since is lost.
 */
export async function acceptDatabases(config: Config, control: ControlPlane): Promise<Accepted[]> {
  const names = [mainShard, ...config.shards.map(({ name }) => name)];
  const leases: Lease[] = [];
  try {
    for (const shard of names) leases.push(await takeShard(config, control, shard));
    const accepted: Accepted[] = [];
    for (const shard of names) {
      const { epoch, projectIds } = await readControlPlane(databaseOf(config, control, shard));
      const projects: string[] = [];
      for (const projectId of projectIds) if (await noteProject(control, projectId, shard)) projects.push(projectId);
      await control.writerEpochs.advanceTo(shard, epoch);
      accepted.push({ shard, projects });
    }
    return accepted;
  } finally {
    for (const lease of leases) await lease.release();
  }
}

/** Whether it was not known. */
async function noteProject(control: ControlPlane, projectId: string, shard: string): Promise<boolean> {
  const name = splitProject(projectId);
  if (name === undefined || (await control.shards.of(name.entity, name.project)) !== undefined) return false;
  await control.projects.ensure(name.entity, name.project);
  await control.shards.move(name.entity, name.project, shard);
  return true;
}
