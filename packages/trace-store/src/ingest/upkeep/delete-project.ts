import { Parameters } from "../../engine/parameters.js";
import { tableFacts } from "../../schema/schema.js";
import { endOfTime } from "../memory/times.js";
import type { IngestContext } from "../context.js";

/** Rows are rewritten without the deleted ones, and the statement returns when they are. */
const deleteSettings = { mutations_sync: "2" } as const;

const tables = tableFacts.filter(([, { columns }]) => columns.startsWith("project_id ")).map(([table]) => table);

/**
 * Deletes all rows of a project. Commits go on meanwhile, except for `betweenCommits`, in which what they have added is
 * deleted: nobody may write into the project any more. Repeating it after a failure is harmless.
 */
export async function deleteProject(
  context: IngestContext,
  projectId: string,
  betweenCommits: (work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  for (const table of tables) await deleteRows(context, table, projectId);
  await betweenCommits(async () => {
    for (const table of await tablesWithRows(context, projectId)) await deleteRows(context, table, projectId);
    // Memory knows calls of it.
    context.state.newestCalls.removeUpTo(projectId, endOfTime);
    context.state.needsRecovery = true;
  });
}

async function deleteRows({ engine }: IngestContext, table: string, projectId: string): Promise<void> {
  const params = new Parameters();
  const sql = `ALTER TABLE ${table} DELETE WHERE project_id = ${params.bind("String", projectId)}`;
  await engine.command({ sql, params }, { settings: deleteSettings });
}

async function tablesWithRows({ engine }: IngestContext, projectId: string): Promise<string[]> {
  const params = new Parameters();
  const project = params.bind("String", projectId);
  const selects = tables.map(
    (table) => `SELECT '${table}' AS name FROM (SELECT 1 FROM ${table} WHERE project_id = ${project} LIMIT 1)`,
  );
  const rows = await engine.rows<{ name: string }>({ sql: selects.join(" UNION ALL "), params });
  return rows.map(({ name }) => name);
}
