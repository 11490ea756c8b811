import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { forgetProject, methodsByName } from "./store-methods.js";

/**
 * The projects of this replica's shards that are being deleted. Other replicas hear of a deletion late: what they send
 * meanwhile must not be stored behind it.
 */
export class DeletedProjects {
  readonly #control: Pick<ControlPlane, "projectDeletions">;
  readonly #begun = new Set<string>();

  constructor(control: Pick<ControlPlane, "projectDeletions">) {
    this.#control = control;
  }

  /** Sees every call of a method of a store. Throws `conflict` for a write in a project that is being deleted. */
  async check(name: string, args: readonly unknown[]): Promise<void> {
    if (name === "deleteProject") this.#begun.add(String(args[0]));
    else if (name === forgetProject) this.#begun.delete(String(args[0]));
    else if (this.#begun.size > 0) {
      const method = methodsByName.get(name);
      if (method?.isRead === false)
        for (const projectId of method.projectsOf(args)) await this.#checkProject(projectId);
    }
  }

  async #checkProject(projectId: string): Promise<void> {
    if (!this.#begun.has(projectId)) return;
    // Who has deleted it may have ended before it said so.
    const unfinished = await this.#control.projectDeletions.list();
    if (unfinished.includes(projectId)) {
      throw new HeddleError("conflict", `the project ${projectId} is being deleted`);
    }
    this.#begun.delete(projectId);
  }
}
