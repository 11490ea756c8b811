import type { Caller, ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { checkProject, checkUsable, forbidden } from "./authorize.js";
import { splitProject } from "./project-id.js";

/**
 * Write access to the projects that the items of one request name (`project: items` in the spec). A project without
 * the right refuses its own items only, and the whole request when no item is left.
 */
export class ItemAccess {
  readonly #control: ControlPlane;
  readonly #caller: Caller;
  readonly #projects = new Map<string, HeddleError | undefined>();
  #forbidden = 0;

  constructor(control: ControlPlane, caller: Caller) {
    this.#control = control;
    this.#caller = caller;
  }

  /** Returns why the items of a project are refused, `forbidden`, `unprocessable` or `conflict`; undefined when they are not. */
  refusal(projectId: string, items = 1): HeddleError | undefined {
    if (!this.#projects.has(projectId)) this.#projects.set(projectId, this.#check(projectId));
    const refusal = this.#projects.get(projectId);
    if (refusal?.code === "forbidden") this.#forbidden += items;
    return refusal;
  }

  /** Throws `forbidden` when all of the request's items were forbidden. */
  requireSome(items: number): void {
    if (items > 0 && this.#forbidden === items) throw forbidden();
  }

  /** Makes the projects of items that were stored. */
  async record(projectIds: Iterable<string>): Promise<void> {
    const unknown: Array<{ entity: string; project: string }> = [];
    for (const projectId of new Set(projectIds)) {
      const name = this.#control.projects.isRemembered(projectId) ? undefined : splitProject(projectId);
      if (name !== undefined) unknown.push(name);
    }
    if (unknown.length > 0) await this.#control.projects.ensureAll(unknown);
  }

  #check(projectId: string): HeddleError | undefined {
    try {
      checkProject(this.#caller, "write", projectId);
      checkUsable(this.#control, projectId);
      return undefined;
    } catch (error) {
      if (error instanceof HeddleError) return error;
      throw error;
    }
  }
}
