import type { Engine } from "../../engine/engine.js";
import { newestRows } from "../../schema/read-table.js";
import { copyText } from "../../stored-calls/call-sides.js";
import { everyVersion } from "../../stored-calls/hidden-call.js";
import type { HiddenCall } from "../../stored-calls/hidden-call.js";
import type { CallKey } from "../../stored-calls/call-key.js";

/** More calls of a project than these are not listed: a statement would become long. */
const maxListed = 200;

/**
 * What `call_hidden` hides and compaction has not removed: for each project its calls, each with what of it
 * is hidden. Of a call that was replaced a newer version exists always.
 */
export class HiddenCalls {
  /** Undefined for a project that has too many. */
  #projects = new Map<string, Map<string, HiddenCall> | undefined>();

  /** True while any project has some. */
  get any(): boolean {
    return this.#projects.size > 0;
  }

  /** The calls of a project by id; undefined when these are too many to be listed. */
  of(projectId: string): ReadonlyMap<string, HiddenCall> | undefined {
    return this.#projects.has(projectId) ? this.#projects.get(projectId) : none;
  }

  /** Hides the versions of a call up to `upTo`: one row more, which starts at `startedAt`. */
  add(call: CallKey, upTo: bigint, startedAt: bigint): void {
    this.#add(call, { upTo, started: { from: startedAt, to: startedAt }, rows: 1 });
  }

  /** Takes what is stored in place of what was known. No commit may be under way. */
  async load(engine: Engine): Promise<void> {
    const loaded = new HiddenCalls();
    const sql = `SELECT project_id, id, if(min(version) = 0, ${everyVersion}, max(version)) AS up_to,
        toUnixTimestamp64Micro(min(started_at)) AS from, toUnixTimestamp64Micro(max(started_at)) AS to,
        count() AS versions
      FROM ${newestRows("call_hidden")} WHERE compacted_at IS NULL GROUP BY project_id, id LIMIT ${maxListed + 1} BY project_id`;
    for (const { up_to, from, to, versions, ...call } of await engine.rows<Row>({ sql })) {
      const started = { from: BigInt(from), to: BigInt(to) };
      loaded.#add(call, { upTo: BigInt(up_to), started, rows: Number(versions) });
    }
    this.#projects = loaded.#projects;
  }

  #add({ project_id, id }: CallKey, more: HiddenCall): void {
    if (!this.#projects.has(project_id)) this.#projects.set(copyText(project_id), new Map());
    const calls = this.#projects.get(project_id);
    if (calls === undefined) return;
    const before = calls.get(id);
    calls.set(before === undefined ? copyText(id) : id, before === undefined ? more : both(before, more));
    if (calls.size > maxListed) this.#projects.set(project_id, undefined);
  }
}

function both(a: HiddenCall, b: HiddenCall): HiddenCall {
  const from = a.started.from < b.started.from ? a.started.from : b.started.from;
  const to = a.started.to > b.started.to ? a.started.to : b.started.to;
  return { upTo: a.upTo > b.upTo ? a.upTo : b.upTo, started: { from, to }, rows: a.rows + b.rows };
}

interface Row extends CallKey {
  up_to: string;
  from: string;
  to: string;
  versions: string;
}

const none: ReadonlyMap<string, HiddenCall> = new Map();
