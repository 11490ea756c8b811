import type { Engine, Statement } from "../../engine/engine.js";
import { Parameters } from "../../engine/parameters.js";
import { allRows } from "../../schema/read-table.js";
import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import { copyText } from "../../stored-calls/call-sides.js";

/** Of a project with more deleted calls each is looked up. */
const maxListed = 10_000;
/** Projects that one statement asks for, and those for which each has a limit of its own. */
const projectsAtOnce = 1000;
const fewProjects = 8;
/** Calls of all these projects that are listed. */
const mostAtOnce = 200_000;
/** About the memory of an entry without its text. */
const entryBytes = 100;

/** `undefined` for a project with too many. */
type Listed = Set<string> | undefined;

/**
 * Which calls are deleted, so that late parts of them are dropped: of the projects that were written to last, as far as
 * `limitBytes` reach; what is not here is read. To be used by one commit after the other.
 */
export class DeletedCalls {
  /** In the order of their last use. */
  readonly #projects = new Map<string, Listed>();
  readonly #limit: number;
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  /** About the bytes that it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The keys, as `keyText` has them, of those calls that are deleted. */
  async among(engine: Engine, calls: readonly CallKey[]): Promise<Set<string>> {
    const projectIds = new Set<string>();
    let last: string | undefined;
    // Calls of a request are of one project: comparing its name is cheaper than looking it up.
    for (const { project_id } of calls) if (project_id !== last) projectIds.add((last = project_id));
    await this.#load(
      engine,
      [...projectIds].filter((projectId) => !this.#projects.has(projectId)),
    );
    const found = new Set<string>();
    const unlisted: CallKey[] = [];
    let noneIsDeleted = true;
    for (const projectId of projectIds) {
      const listed = this.#projects.get(projectId);
      noneIsDeleted &&= listed?.size === 0;
      this.#projects.delete(projectId);
      this.#projects.set(copyText(projectId), listed);
    }
    // In most projects no call is deleted.
    if (!noneIsDeleted) {
      for (const call of calls) {
        const listed = this.#projects.get(call.project_id);
        if (listed === undefined) unlisted.push(call);
        else if (listed.has(call.id)) found.add(keyText(call));
      }
    }
    for (const call of await lookUp(engine, unlisted)) found.add(keyText(call));
    this.#shrink();
    return found;
  }

  /** Calls that were deleted just now. */
  add(calls: Iterable<CallKey>): void {
    for (const { project_id, id } of calls) {
      const listed = this.#projects.get(project_id);
      if (listed === undefined || listed.has(id)) continue;
      listed.add(copyText(id));
      this.#bytes += bytesOf(id);
      if (listed.size > maxListed) this.#set(project_id, undefined);
    }
  }

  clear(): void {
    this.#projects.clear();
    this.#bytes = 0;
  }

  async #load(engine: Engine, projectIds: readonly string[]): Promise<void> {
    for (let from = 0; from < projectIds.length; from += projectsAtOnce) {
      const some = projectIds.slice(from, from + projectsAtOnce);
      const lists = new Map(some.map((projectId) => [projectId, { ids: new Set<string>(), rows: 0 }]));
      let kept = 0;
      for await (const { project_id, id } of engine.stream<CallKey>(deletedOf(some))) {
        const list = lists.get(project_id);
        if (list === undefined) continue;
        list.rows++;
        if (++kept <= mostAtOnce) list.ids.add(id);
        else list.rows = Infinity;
      }
      // Rows that are not merged yet make a list incomplete earlier.
      for (const [projectId, { ids, rows }] of lists) this.#set(projectId, rows > maxListed ? undefined : ids);
    }
  }

  #set(projectId: string, listed: Listed): void {
    this.#forget(projectId);
    this.#projects.set(copyText(projectId), listed);
    this.#bytes += sizeOf(projectId, listed);
  }

  #forget(projectId: string): void {
    if (!this.#projects.has(projectId)) return;
    this.#bytes -= sizeOf(projectId, this.#projects.get(projectId));
    this.#projects.delete(projectId);
  }

  #shrink(): void {
    for (const projectId of this.#projects.keys()) {
      if (this.#bytes <= this.#limit) return;
      this.#forget(projectId);
    }
  }
}

/** The deleted calls of projects. A limit of its own ends the read of each, but costs more than all the rest for many of them. */
function deletedOf(projectIds: readonly string[]): Statement {
  const params = new Parameters();
  const select = (mine: string) =>
    `SELECT project_id, id FROM ${allRows("call_hidden")} WHERE ${mine} AND version = 0 LIMIT ${maxListed + 1}`;
  if (projectIds.length > fewProjects) {
    return { sql: `${select(params.in("project_id", "String", projectIds))} BY project_id`, params };
  }
  const selects = projectIds.map((projectId) => `(${select(`project_id = ${params.bind("String", projectId)}`)})`);
  return { sql: selects.join(" UNION ALL "), params };
}

const callsAtOnce = 1000;

async function lookUp(engine: Engine, calls: readonly CallKey[]): Promise<CallKey[]> {
  const found: CallKey[] = [];
  for (let from = 0; from < calls.length; from += callsAtOnce) {
    const params = new Parameters();
    const some = calls.slice(from, from + callsAtOnce).map(({ project_id, id }) => [project_id, id] as const);
    const sql = `SELECT DISTINCT project_id, id FROM ${allRows("call_hidden")}
      WHERE version = 0 AND ${params.inPairs(["project_id", "id"], some)}`;
    found.push(...(await engine.rows<CallKey>({ sql, params })));
  }
  return found;
}

function bytesOf(text: string): number {
  return entryBytes + text.length;
}

function sizeOf(projectId: string, listed: Listed): number {
  let bytes = bytesOf(projectId);
  for (const id of listed ?? []) bytes += bytesOf(id);
  return bytes;
}
