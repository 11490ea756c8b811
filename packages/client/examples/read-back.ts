// Prints the newest finished traces of a project with what they took, and the calls below each of them.
// Start the service, run trace-a-function.ts, then: npx tsx read-back.ts
import { createTracingClient } from "@heddle/client";

const projectId = "local/examples";
const tracing = createTracingClient({
  baseUrl: process.env.HEDDLE_URL ?? "http://127.0.0.1:4680",
  apiKey: process.env.HEDDLE_API_KEY,
});

const traces = tracing.callsQueryStream({
  project_id: projectId,
  filter: { trace_roots_only: true },
  query: { $expr: { $eq: [{ $getField: "summary.weave.status" }, { $literal: "success" }] } },
  sort_by: [{ field: "started_at", direction: "desc" }],
  limit: 5,
});

for await (const root of traces) {
  console.log(`${root.started_at}  ${root.op_name}  ${JSON.stringify(root.output)}`);
  const calls = tracing.callsQueryStream({
    project_id: projectId,
    filter: { parent_ids: [root.id] },
    columns: ["inputs", "output"],
  });
  for await (const call of calls) console.log(`  ${call.op_name}  ${JSON.stringify(call.output)}`);
}
