import type { Database } from "../database/database.js";
import { textOf } from "../database/database.js";
import { originalText, storedText } from "../database/stored-text.js";
import { deleteProjectRows } from "./delete-rows.js";

/** Deletions of projects. One that has begun is finished, also after a crash: until then the project cannot be used. */
export interface ProjectDeletions {
  /** Has everybody who asks this process find the project being deleted. Beginning it again changes nothing. */
  begin(projectId: string, userId: string): Promise<void>;
  /** Whether a deletion has begun that is not finished, in this process or in an earlier one. */
  has(projectId: string): boolean;
  /** Those that are not finished, oldest first; from then on {@link has} knows those that another process has begun, too. */
  list(): Promise<string[]>;
  /** The ids of jobs of the project that wait or run. */
  activeJobs(projectId: string): Promise<string[]>;
  /** Deletes all rows of the project. Its name is then free. */
  finish(projectId: string): Promise<void>;
}

export async function openProjectDeletions(
  database: Database,
  { now, onFinished }: { now: () => bigint; onFinished: () => void },
): Promise<ProjectDeletions> {
  const list = async () => {
    const rows = await database.rows("SELECT project_id FROM project_deletions ORDER BY requested_at, project_id");
    return rows.map((row) => textOf(row, "project_id"));
  };
  const begun = new Set(await list());
  return {
    async begin(projectId, userId) {
      await database.run(
        `INSERT INTO project_deletions (project_id, requested_at, requested_by) VALUES ($1, $2, $3)
          ON CONFLICT (project_id) DO NOTHING`,
        [projectId, now(), storedText(userId)],
      );
      begun.add(projectId);
    },
    has: (projectId) => begun.has(projectId),
    async list() {
      const listed = await list();
      for (const projectId of listed) begun.add(projectId);
      return listed;
    },
    async activeJobs(projectId) {
      const sql = "SELECT id FROM jobs WHERE project_id = $1 AND state IN ('queued', 'running')";
      return (await database.rows(sql, [projectId])).map((row) => originalText(textOf(row, "id")));
    },
    async finish(projectId) {
      await database.transaction(async (statements) => await deleteProjectRows(statements, projectId));
      onFinished();
      begun.delete(projectId);
    },
  };
}
