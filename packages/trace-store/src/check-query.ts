import { queryColumns } from "./costs/costs.js";
import { feedbackColumns } from "./feedback/columns.js";
import { planCalls } from "./query/call-query.js";
import type { CallSelector } from "./query/call-query.js";
import { planRows } from "./query/row-query.js";

/** What a query is of. */
export type QueriedResource = "calls" | "feedback" | "prices";

/** Throws all that is wrong with a query, without running it. */
export function checkQuery(resource: QueriedResource, request: Omit<CallSelector, "project_id">): void {
  if (resource === "calls") planCalls({ ...request, project_id: "" });
  else planRows(request, resource === "feedback" ? feedbackColumns : queryColumns, resource);
}
