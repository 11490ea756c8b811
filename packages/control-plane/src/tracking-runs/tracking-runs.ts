import { randomUUID } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { Database, Row, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { checkName, isStorable, isTooLong } from "../database/names.js";
import type { ReserveRows } from "../database/reserve.js";
import { originalText, storedText } from "../database/stored-text.js";
import { deleteHistory, historySlices, readHistory, runSubject, writeHistory } from "./history.js";
import type { HistoryRow } from "./history.js";

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
    reserve?: ReserveRows,
  ): Promise<{ run: TrackingRun; created: boolean }>;
  get(projectId: string, name: string, reserve?: ReserveRows): Promise<TrackingRun | undefined>;
  /** Whether there is the run; its fields, which may be large, are not read. */
  has(projectId: string, name: string): Promise<boolean>;
  /** Deletes a run with its history; returns false when there is none. */
  delete(projectId: string, name: string): Promise<boolean>;
  /**
   * Stores rows, JSON text each, from a position on; rows that are there already are replaced. Large requests are several
   * transactions: what came before an error or the end of the signal stays, and the request can be sent again. Throws
   * `not_found`, and `too_large` beyond 1,000,000 rows.
   */
  writeHistory(run: RunOf, start: number, rows: readonly string[], signal?: AbortSignal): Promise<void>;
  readHistory(page: HistoryPage, reserve?: ReserveRows): Promise<string[]>;
  /** Number of rows of the history of a run; 0 where there is none. */
  historyRows(projectId: string, name: string): Promise<number>;
  /** The history from a position on, in slices that fit in memory; nothing where there is no such run. */
  scanHistory(run: RunOf, start: number): AsyncGenerator<HistoryRow[]>;
}

const columns = "id, project_id, name, fields, history_rows, created_at, created_by, updated_at";
const maxFieldBytes = 16 * 1024 * 1024;

export function openTrackingRuns(database: Database, now: () => bigint): TrackingRuns {
  return {
    async upsert({ project_id, name, created_by }, fields, reserve) {
      if (checkName(name, "name").includes("/")) {
        throw new HeddleError("unprocessable", "name must not hold a slash", { loc: ["name"] });
      }
      await reserveFields(project_id, name, reserve);
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
      }, runSubject({ project_id, name }));
    },
    async get(projectId, name, reserve) {
      await reserveFields(projectId, name, reserve);
      return await find(database, projectId, name);
    },
    has: async (projectId, name) => (await findId(database, projectId, name)) !== undefined,
    async delete(projectId, name) {
      const known = await findId(database, projectId, name);
      if (known === undefined) return false;
      await deleteHistory(database, known);
      return await database.transaction(
        async (statements) => {
          const id = await findId(statements, projectId, name);
          if (id === undefined) return false;
          await statements.run("DELETE FROM tracking_run_history WHERE run_id = $1", [id]);
          await statements.run("DELETE FROM tracking_runs WHERE id = $1", [id]);
          return true;
        },
        runSubject({ project_id: projectId, name }),
      );
    },
    async writeHistory({ project_id, name }, start, rows, signal) {
      const idOf = async (statements: Statements): Promise<string> => {
        const id = await findId(statements, project_id, name);
        if (id === undefined) throw new HeddleError("not_found", `no run ${name} in ${project_id}`);
        return id;
      };
      await writeHistory(database, idOf, {
        subject: runSubject({ project_id, name }),
        start,
        rows,
        now: now(),
        ...(signal && { signal }),
      });
    },
    async readHistory({ project_id, name, ...page }, reserve) {
      const id = await findId(database, project_id, name);
      return id === undefined ? [] : await readHistory(database, id, page, reserve);
    },
    async historyRows(projectId, name) {
      const row = await findRow(database, "history_rows", projectId, name);
      return row === undefined ? 0 : Number(integerOf(row, "history_rows"));
    },
    async *scanHistory({ project_id, name }, start) {
      const id = await findId(database, project_id, name);
      if (id !== undefined) yield* historySlices(database, id, start);
    },
  };

  async function reserveFields(projectId: string, name: string, reserve: ReserveRows | undefined): Promise<void> {
    if (reserve === undefined) return;
    const row = await findRow(database, "octet_length(fields) AS bytes", projectId, name);
    await reserve(row === undefined ? 0 : Number(integerOf(row, "bytes")), 1);
  }
}

async function find(statements: Statements, projectId: string, name: string): Promise<TrackingRun | undefined> {
  const row = await findRow(statements, columns, projectId, name);
  return row && runOf(row);
}

async function findId(statements: Statements, projectId: string, name: string): Promise<string | undefined> {
  const row = await findRow(statements, "id", projectId, name);
  return row && textOf(row, "id");
}

async function findRow(
  statements: Statements,
  selected: string,
  projectId: string,
  name: string,
): Promise<Row | undefined> {
  if (!isStorable(name) || isTooLong(name)) return undefined;
  const sql = `SELECT ${selected} FROM tracking_runs WHERE project_id = $1 AND name = $2`;
  return (await statements.rows(sql, [projectId, name]))[0];
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
