import { mainShard } from "@heddle/control-plane";
import type { ControlPlane } from "@heddle/control-plane";
import { splitProject } from "../access/project-id.js";

const remembered = 100_000;

/** In which shard each project is. What a replica remembers is checked by the one that works on the shard. */
export class ProjectHomes {
  readonly #control: Pick<ControlPlane, "projects" | "shards">;
  readonly #known = new Map<string, string>();
  /** How often everything was forgotten: what was read before says nothing after. */
  #forgotten = 0;

  constructor(control: Pick<ControlPlane, "projects" | "shards">) {
    this.#control = control;
  }

  /** Makes the project for a write, if there is none. For a read, one that does not exist is in the first shard. */
  async of(projectId: string, isRead: boolean): Promise<string> {
    const known = this.#known.get(projectId);
    if (known !== undefined) return known;
    const found = await this.#find(projectId);
    if (found !== undefined || isRead) return found ?? mainShard;
    const name = splitProject(projectId);
    if (name === undefined) return mainShard;
    // One that was deleted elsewhere is remembered as if it were there.
    this.#control.projects.forget();
    await this.#control.projects.ensure(name.entity, name.project);
    return (await this.#find(projectId)) ?? mainShard;
  }

  /** Where a project was when it was last asked for. */
  remembered(projectId: string): string | undefined {
    return this.#known.get(projectId);
  }

  /** Whether a project is in a shard. For a read, one that does not exist is in all of them. */
  async isIn(projectId: string, shard: string, isRead: boolean): Promise<boolean> {
    if (this.#known.get(projectId) === shard) return true;
    const found = await this.#find(projectId);
    if (found === undefined && splitProject(projectId) === undefined) return shard === mainShard;
    return found === undefined ? isRead : found === shard;
  }

  /** Whether all of the projects are in a shard; see {@link isIn}. */
  async areIn(projectIds: Iterable<string>, shard: string, isRead: boolean): Promise<boolean> {
    for (const projectId of projectIds) if (!(await this.isIn(projectId, shard, isRead))) return false;
    return true;
  }

  /** It was deleted, or is in another shard than was thought. */
  forget(projectId: string): void {
    this.#forgotten += 1;
    this.#known.delete(projectId);
  }

  /** Another replica may have deleted or moved any of them. */
  forgetAll(): void {
    this.#forgotten += 1;
    this.#known.clear();
  }

  async #find(projectId: string): Promise<string | undefined> {
    const name = splitProject(projectId);
    const forgotten = this.#forgotten;
    const found = name && (await this.#control.shards.of(name.entity, name.project));
    if (found === undefined || forgotten !== this.#forgotten) return found;
    if (this.#known.size >= remembered) this.#known.clear();
    this.#known.set(projectId, found);
    return found;
  }
}
