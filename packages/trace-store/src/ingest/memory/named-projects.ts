import type { Engine } from "../../engine/engine.js";
import { Parameters } from "../../engine/parameters.js";
import { allRows } from "../../schema/read-table.js";
import { copyText } from "../../stored-calls/call-sides.js";
import { ByteLimit } from "./byte-limit.js";

/** About the memory of an entry without its text. */
const entryBytes = 100;
/** Names that one statement reads. */
const rowsAtOnce = 100_000;

/**
 * The projects that names of calls are stored of: readers join names for these alone. Beyond `limitBytes` every project may be
 * one.
 */
export class NamedProjects {
  #projects = new Set<string>();
  #held: ByteLimit;

  constructor(limitBytes: number) {
    this.#held = new ByteLimit(limitBytes, entryBytes);
  }

  get any(): boolean {
    return this.#held.isPartial || this.#projects.size > 0;
  }

  /** About the bytes that it holds. */
  get bytes(): number {
    return this.#held.bytes;
  }

  has(projectId: string): boolean {
    return this.#held.isPartial || this.#projects.has(projectId);
  }

  add(projectId: string): void {
    if (!this.has(projectId) && this.#held.add(projectId)) this.#projects.add(copyText(projectId));
  }

  /**
   * Takes what is stored in place of what was known. No commit may be under way. Of a project with many names it reads a
   * part: the table is ordered by project.
   */
  async load(engine: Engine): Promise<void> {
    const loaded = new NamedProjects(this.#held.limit);
    let last = "";
    for (let rows = rowsAtOnce; rows === rowsAtOnce && !loaded.#held.isPartial;) {
      const params = new Parameters();
      const next = `SELECT project_id FROM ${allRows("call_names")}
        WHERE project_id > ${params.bind("String", last)} ORDER BY project_id LIMIT ${rowsAtOnce}`;
      const sql = `SELECT project_id, count() AS names FROM (${next}) GROUP BY project_id ORDER BY project_id`;
      const found = await engine.rows<{ project_id: string; names: string }>({ sql, params });
      rows = found.reduce((sum, { names }) => sum + Number(names), 0);
      for (const { project_id } of found) loaded.add(project_id);
      last = found.at(-1)?.project_id ?? last;
    }
    this.#projects = loaded.#projects;
    this.#held = loaded.#held;
  }
}
