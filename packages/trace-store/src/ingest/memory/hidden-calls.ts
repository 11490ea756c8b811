import type { Engine } from "../../engine/engine.js";
import { allRows } from "../../schema/read-table.js";
import { copyText } from "../../stored-calls/call-sides.js";
import { everyVersion } from "../../stored-calls/hidden-call.js";
import type { HiddenCall } from "../../stored-calls/hidden-call.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import { ByteLimit } from "./byte-limit.js";

/** More calls of a project than these are not listed: a statement would become long. */
const maxListed = 200;

/** About the memory of a call without its id. */
const entryBytes = 300;

/**
 * What `call_hidden` hides and compaction has not removed: for each project its calls, each with what of it
 * is hidden. Of a call that was replaced a newer version exists always. Beyond `limitBytes`, readers ask the table.
 */
export class HiddenCalls {
  /** Undefined for a project that has too many. */
  #projects = new Map<string, Map<string, HiddenCall> | undefined>();
  /** Partial: projects that are not here may have some. */
  #held: ByteLimit;

  constructor(limitBytes: number) {
    this.#held = new ByteLimit(limitBytes, entryBytes);
  }

  /** True while any project has some. */
  get any(): boolean {
    return this.#held.isPartial || this.#projects.size > 0;
  }

  /** About the bytes that it holds. */
  get bytes(): number {
    return this.#held.bytes;
  }

  /** The calls of a project by id; undefined when these are too many to be listed. */
  of(projectId: string): ReadonlyMap<string, HiddenCall> | undefined {
    if (this.#projects.has(projectId)) return this.#projects.get(projectId);
    return this.#held.isPartial ? undefined : none;
  }

  /** Hides the versions of a call up to `upTo`: one row more, which starts at `startedAt`. */
  add(call: CallKey, upTo: bigint, startedAt: bigint): void {
    this.#add(call, { upTo, started: { from: startedAt, to: startedAt }, rows: 1 });
  }

  /** Takes what was hidden after the version `compacted` in place of what was known. No commit may be under way. */
  async load(engine: Engine, compacted: bigint): Promise<void> {
    const loaded = new HiddenCalls(this.#held.limit);
    const sql = `SELECT project_id, id, if(min(version) = 0, ${everyVersion}, max(version)) AS up_to,
        toUnixTimestamp64Micro(min(started_at)) AS from, toUnixTimestamp64Micro(max(started_at)) AS to,
        uniqExact(version) AS versions
      FROM ${pendingHidden(compacted)} GROUP BY project_id, id LIMIT ${maxListed + 1} BY project_id`;
    for await (const { up_to, from, to, versions, ...call } of engine.stream<Row>({ sql })) {
      const started = { from: BigInt(from), to: BigInt(to) };
      loaded.#add(call, { upTo: BigInt(up_to), started, rows: Number(versions) });
    }
    this.#projects = loaded.#projects;
    this.#held = loaded.#held;
  }

  #add({ project_id, id }: CallKey, more: HiddenCall): void {
    if (!this.#projects.has(project_id)) {
      if (!this.#held.add(project_id)) return;
      this.#projects.set(copyText(project_id), new Map());
    }
    const calls = this.#projects.get(project_id);
    if (calls === undefined) return;
    const before = calls.get(id);
    if (before === undefined && (calls.size === maxListed || !this.#held.add(id))) {
      for (const known of calls.keys()) this.#held.remove(known);
      this.#projects.set(project_id, undefined);
      return;
    }
    calls.set(before === undefined ? copyText(id) : id, before === undefined ? more : both(before, more));
  }
}

/** The rows of `call_hidden` that compaction has still to work on, for a FROM clause. Some may be there twice. */
export function pendingHidden(compacted: bigint, upTo?: string): string {
  const before = upTo === undefined ? "" : ` AND row_version <= ${upTo}`;
  return `(SELECT * FROM ${allRows("call_hidden")} WHERE row_version > ${compacted}${before} AND compacted_at IS NULL)`;
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
