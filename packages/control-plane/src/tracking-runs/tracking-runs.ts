import { randomUUID } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { Database, Row, Statements } from "../database.js";
import { integerOf, textOf } from "../database.js";
import { checkName, isStorable, isTooLong } from "../names.js";
import { batches, Parameters } from "../parameters.js";
import { originalText, storedText } from "../stored-text.js";

/** What a client says of a run. JSON text where it is an object. */
export interface TrackingRunFields {
  display_name?: string;
  description?: string;
  notes?: string;
  group?: string;
  job_type?: string;
  state?: string;
  tags?: readonly string[];
  config?: string;
  summary?: string;
}

/** A run in which a client tracks metrics, under the id that the client chose. */
export interface TrackingRun {
  id: string;
  project_id: string;
  /** Unique in its project. */
  name: string;
  fields: TrackingRunFields;
  /** Rows of its history. */
  history_rows: number;
  created_at: bigint;
  created_by: string;
  updated_at: bigint;
}

interface RunOf {
  project_id: string;
  name: string;
}

interface HistoryPage extends RunOf {
  /** Position of the first row. */
  start: number;
  limit: number;
}

/** Runs that clients track. Everything is looked for in the project given: what another project has is not there. */
export interface TrackingRuns {
  /** Makes a run, or changes the fields given of the one that is there. Throws `unprocessable` for a name. */
  upsert(
    run: RunOf & { created_by: string },
    fields: TrackingRunFields,
  ): Promise<{ run: TrackingRun; created: boolean }>;
  get(projectId: string, name: string): Promise<TrackingRun | undefined>;
  /** Deletes a run with its history; returns false when there is none. */
  delete(projectId: string, name: string): Promise<boolean>;
  /**
   * Stores rows, JSON text each, from a position on; rows that are there already are replaced. Throws `not_found`, and
   * `too_large` beyond 1,000,000 rows.
   */
  writeHistory(run: RunOf, start: number, rows: readonly string[]): Promise<void>;
  readHistory(page: HistoryPage): Promise<string[]>;
}

const columns = "id, project_id, name, fields, history_rows, created_at, created_by, updated_at";
const maxHistoryRows = 1_000_000;
const maxFieldBytes = 16 * 1024 * 1024;

export function openTrackingRuns(database: Database, now: () => bigint): TrackingRuns {
  return {
    async upsert({ project_id, name, created_by }, fields) {
      if (checkName(name, "name").includes("/")) {
        throw new HeddleError("unprocessable", "name must not hold a slash", { loc: ["name"] });
      }
      return await database.transaction(async (statements) => {
        const found = await find(statements, project_id, name);
        const merged = storedText(JSON.stringify({ ...found?.fields, ...fields }));
        if (Buffer.byteLength(merged) > maxFieldBytes) {
          throw new HeddleError("too_large", `a run has at most ${maxFieldBytes} bytes of fields`);
        }
        const at = now();
        const [row] = await statements.rows(
          `INSERT INTO tracking_runs (id, project_id, name, fields, history_rows, created_at, created_by, updated_at)
            VALUES ($1, $2, $3, $4, 0, $5, $6, $5)
            ON CONFLICT (project_id, name) DO UPDATE SET fields = excluded.fields, updated_at = excluded.updated_at
            RETURNING ${columns}`,
          [randomUUID(), project_id, name, merged, at, storedText(created_by)],
        );
        return { run: runOf(row ?? {}), created: found === undefined };
      });
    },
    get: async (projectId, name) => await find(database, projectId, name),
    delete: async (projectId, name) =>
      await database.transaction(async (statements) => {
        const run = await find(statements, projectId, name);
        if (run === undefined) return false;
        await statements.run("DELETE FROM tracking_run_history WHERE run_id = $1", [run.id]);
        await statements.run("DELETE FROM tracking_runs WHERE id = $1", [run.id]);
        return true;
      }),
    async writeHistory({ project_id, name }, start, rows) {
      if (start + rows.length > maxHistoryRows) {
        throw new HeddleError("too_large", `a run has at most ${maxHistoryRows} rows of history`);
      }
      await database.transaction(async (statements) => {
        const run = await find(statements, project_id, name);
        if (run === undefined) throw new HeddleError("not_found", `no run ${name} in ${project_id}`);
        await insertRows(statements, run.id, start, rows);
        await statements.run(
          `UPDATE tracking_runs SET updated_at = $2, history_rows =
            (SELECT COALESCE(MAX(position) + 1, 0) FROM tracking_run_history WHERE run_id = $1) WHERE id = $1`,
          [run.id, now()],
        );
      });
    },
    async readHistory({ project_id, name, start, limit }) {
      const run = await find(database, project_id, name);
      const rows = await database.rows(
        `SELECT row_json FROM tracking_run_history WHERE run_id = $1 AND position >= $2 ORDER BY position LIMIT $3`,
        [run?.id ?? "", BigInt(start), BigInt(limit)],
      );
      return rows.map((row) => originalText(textOf(row, "row_json")));
    },
  };
}

async function insertRows(
  statements: Statements,
  runId: string,
  start: number,
  rows: readonly string[],
): Promise<void> {
  let position = BigInt(start);
  for (const some of batches(rows)) {
    const p = new Parameters();
    const values = some.map((row) => `(${p.bind(runId)}, ${p.bind(position++)}, ${p.bind(storedText(row))})`);
    await statements.run(
      `INSERT INTO tracking_run_history (run_id, position, row_json) VALUES ${values.join(", ")}
        ON CONFLICT (run_id, position) DO UPDATE SET row_json = excluded.row_json`,
      p.values,
    );
  }
}

async function find(statements: Statements, projectId: string, name: string): Promise<TrackingRun | undefined> {
  if (!isStorable(name) || isTooLong(name)) return undefined;
  const sql = `SELECT ${columns} FROM tracking_runs WHERE project_id = $1 AND name = $2`;
  const [row] = await statements.rows(sql, [projectId, name]);
  return row && runOf(row);
}

function runOf(row: Row): TrackingRun {
  return {
    id: textOf(row, "id"),
    project_id: textOf(row, "project_id"),
    name: textOf(row, "name"),
    fields: JSON.parse(originalText(textOf(row, "fields"))) as TrackingRunFields,
    history_rows: Number(integerOf(row, "history_rows")),
    created_at: integerOf(row, "created_at"),
    created_by: originalText(textOf(row, "created_by")),
    updated_at: integerOf(row, "updated_at"),
  };
}
