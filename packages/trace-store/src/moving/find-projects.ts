import { connectEngine } from "../engine/engine.js";
import { storedEpoch } from "../migrations/writer-fence.js";
import { tableFacts } from "../schema/schema.js";
import type { IdleDatabase } from "./move-project.js";

/** What a tracing database knows by itself of the control plane to which it belongs. */
interface KnownOfControlPlane {
  /** The number of its last writer; 0 where there was none. */
  epoch: bigint;
  /** Ids of the projects of which it has anything. */
  projectIds: string[];
}

/** What is about calls says nothing where the calls are gone. */
const aboutCalls = new Set<string>(["call_names", "call_hidden"]);
const tables = tableFacts.filter(
  ([table, { columns, derived }]) => columns.startsWith("project_id ") && derived !== true && !aboutCalls.has(table),
);

export async function readControlPlane({
  client,
  database,
}: Pick<IdleDatabase, "client" | "database">): Promise<KnownOfControlPlane> {
  const engine = connectEngine(client, "default");
  try {
    const epoch = await storedEpoch(engine, { database });
    if (epoch === 0n) return { epoch, projectIds: [] };
    const selects = tables.map(([table]) => `SELECT DISTINCT project_id FROM ${database}.${table}`);
    const rows = await engine.rows<{ project_id: string }>({ sql: selects.join(" UNION DISTINCT ") });
    return { epoch, projectIds: rows.map(({ project_id }) => project_id).toSorted() };
  } finally {
    await engine.close();
  }
}
