import type { Engine } from "../engine/engine.js";
import { newestRows } from "../schema/read-table.js";
import type { CallKey } from "./call-key.js";

/** More calls of a project than these are not listed: a statement would become long. */
const maxListed = 200;

/** The version up to which a deleted call is hidden: there is none above it. */
export const everyVersion = 2n ** 64n - 1n;

/**
 * What `call_hidden` hides and compaction has not removed: for each project its calls, each with the version up to which
 * it is hidden. Of a call that was replaced a newer version exists always.
 */
export class HiddenCalls {
  /** Undefined for a project that has too many. */
  #projects = new Map<string, Map<string, bigint> | undefined>();

  /** True while any project has some. */
  get any(): boolean {
    return this.#projects.size > 0;
  }

  /** The calls of a project and their versions; undefined when these are too many to be listed. */
  of(projectId: string): ReadonlyMap<string, bigint> | undefined {
    return this.#projects.has(projectId) ? this.#projects.get(projectId) : none;
  }

  add({ project_id, id }: CallKey, upTo: bigint): void {
    if (!this.#projects.has(project_id)) this.#projects.set(project_id, new Map());
    const calls = this.#projects.get(project_id);
    if (calls === undefined) return;
    const before = calls.get(id) ?? 0n;
    if (upTo > before) calls.set(id, upTo);
    if (calls.size > maxListed) this.#projects.set(project_id, undefined);
  }

  /** Takes what is stored in place of what was known. No commit may be under way. */
  async load(engine: Engine): Promise<void> {
    const loaded = new HiddenCalls();
    const sql = `SELECT project_id, id, if(min(version) = 0, ${everyVersion}, max(version)) AS up_to
      FROM ${newestRows("call_hidden")} WHERE compacted_at IS NULL GROUP BY project_id, id LIMIT ${maxListed + 1} BY project_id`;
    for (const { up_to, ...call } of await engine.rows<CallKey & { up_to: string }>({ sql })) {
      loaded.add(call, BigInt(up_to));
    }
    this.#projects = loaded.#projects;
  }
}

const none: ReadonlyMap<string, bigint> = new Map();
