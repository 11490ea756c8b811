import type { TestService } from "../test-service.js";

/** What the project of the requests holds, so that they meet something. */
export interface Seeded {
  project_id: string;
  object: string;
  table: string;
  rows: string[];
  file: string;
}

/** Objects of one value, so that any of the names goes with the one digest. */
export const seededObjects = ["questions", "o1", "o2", "o3", "o4", "o5", "o6", "o7"];

/** Stores it, or what was deleted of it again. */
export async function seed(service: TestService, projectId: string): Promise<Seeded> {
  const tracing = service.tracing();
  const { digest: table, row_digests: rows } = await tracing.tableCreate({
    table: { project_id: projectId, rows: [{ a: 1 }, { a: "x" }] },
  });
  const val = { rows: `weave:///${projectId}/table/${table}` };
  const created = await Promise.all(
    seededObjects.map(async (objectId) =>
      tracing.objCreate({ obj: { project_id: projectId, object_id: objectId, val } }),
    ),
  );
  const { digest: file } = await tracing.fileCreate({ project_id: projectId, file: new TextEncoder().encode("hello") });
  return { project_id: projectId, object: created[0]?.digest ?? "", table, rows, file };
}
