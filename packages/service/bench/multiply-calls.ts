import { sendAll } from "./load.js";
import { completeRequests } from "./payloads.js";
import type { ServiceProcess } from "./service-process.js";

/** Fills a project: some thousand calls by the API, which the engine multiplies, each a second before the other. */
export async function multiplyCalls(service: ServiceProcess, project: string, count: number): Promise<void> {
  const createdCalls = Math.min(count, 5000);
  await sendAll(service, completeRequests(project, Math.ceil(createdCalls / 50), 50), 4);
  const copies = Math.floor(count / createdCalls) - 1;
  for (let copy = 1; copy <= copies; copy++) {
    const changed = `concat(id, '-${copy}') AS id, started_at - ${copy * createdCalls} AS started_at, version - ${copy} AS version,
      1000 * (cityHash64(id) % 5000000) AS latency_us`;
    await service.engine(`INSERT INTO trace.calls SELECT * REPLACE(${changed}) FROM
      (SELECT * FROM trace.calls WHERE project_id = '${project}' AND length(id) = 36 LIMIT ${createdCalls})`);
  }
}
