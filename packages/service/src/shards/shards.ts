import { mainShard } from "@heddle/control-plane";
import type { ControlPlane } from "@heddle/control-plane";
import { DeletedProjects } from "./deleted-projects.js";
import { ProjectHomes } from "./project-homes.js";
import { ShardPlace } from "./shard-place.js";
import { ShardStore } from "./shard-store.js";
import { forgetProject } from "./store-methods.js";

/** The tracing databases of an installation that has several, as a replica knows them. */
export class Shards {
  /** By name. */
  readonly stores: ReadonlyMap<string, ShardStore>;
  readonly places: ReadonlyMap<string, ShardPlace>;
  readonly homes: ProjectHomes;
  readonly deleted: DeletedProjects;
  /** Where the replica works that has what is not sharded, too. */
  readonly first: ShardPlace;

  constructor(
    control: Pick<ControlPlane, "projectDeletions" | "projects" | "shards" | "urlSignatures">,
    further: readonly { name: string }[],
  ) {
    const names = [mainShard, ...further.map(({ name }) => name)];
    this.homes = new ProjectHomes(control);
    this.deleted = new DeletedProjects(control);
    this.stores = new Map(names.map((name) => [name, new ShardStore(new ShardPlace(name), control, this)]));
    this.places = new Map(Array.from(this.stores, ([name, { place }]) => [name, place]));
    this.first = this.places.get(mainShard)!;
  }

  /** How many this replica works on. */
  owned(): number {
    return [...this.places.values()].filter(({ own }) => own !== undefined).length;
  }

  /** A project was deleted, and may be made again in another shard. */
  async forgetProject(projectId: string): Promise<void> {
    this.homes.forget(projectId);
    await Promise.all(Array.from(this.stores.values(), async (store) => await store.call(forgetProject, [projectId])));
  }

  beginEnd(): void {
    for (const store of this.stores.values()) store.beginEnd();
  }

  close(): void {
    for (const store of this.stores.values()) store.close();
  }
}
