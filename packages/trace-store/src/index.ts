export { checkQuery, type QueriedResource } from "./check-query.js";
export { openTraceStore } from "./store.js";
export { checkOneNode } from "./engine/one-node.js";
export type { StoreLoad, StoreObserver, TraceStore, TraceStoreOptions } from "./store.js";
export type { ObservedStatement, StatementKind } from "./engine/observed-engine.js";
export type { ObservedCommit, PreparedWrite } from "./ingest/ingest.js";
export { missingParts } from "./engine/stored-parts.js";
export { encodingThreadHeaps } from "./encoding/large-values.js";
export type { StoredPart } from "./engine/stored-parts.js";
export { copyProject, deleteCopy } from "./moving/move-project.js";
export type { IdleDatabase, MovedTable } from "./moving/move-project.js";
export { readControlPlane } from "./moving/find-projects.js";
export type { WriterEpochs } from "./migrations/writer-fence.js";
export { defaultDatabase } from "./schema/schema.js";
export { backupTables, restoreTables } from "./schema/backup.js";
export type { RunStatement } from "./schema/backup.js";
export type { ReadOptions, Reserve } from "./context.js";
export { readSlots } from "./engine/engine-shares.js";
export type { EngineShares, SlotPool } from "./engine/engine-shares.js";
export type { CallPages, CallsPage, CallsPageRequest, PageStart } from "./call-pages/call-pages.js";
export type { EventsSince, ProjectEvents } from "./project-events/project-events.js";
export type { CallsTailRequest, CallTails, TailBatch, TailEvent } from "./call-tails/call-tails.js";
export type { CallPageRow } from "./call-pages/row-columns.js";
export type { OrderPosition } from "./query/seek.js";
export type { Aggregates } from "./aggregates/aggregates.js";
export type { CallCount, CallRead, CallReads, CallsQuery } from "./calls/calls.js";
export type { CallsFilter } from "./query/filter.js";
export type { CallStats, CallStatsRequest, StatsBucket, UsageBucket } from "./stats/stats.js";
export type { StoredCall } from "./stored-calls/stored-call.js";
export type { AggregatedUsage, CallsUsageRequest, TraceUsageRequest, UsageByCall } from "./usage/usage.js";
export type { ComparedScore, EvaluationComparison } from "./evaluations/comparison.js";
export type { Evaluations } from "./evaluations/evaluations.js";
export type { EvaluationRecord, EvaluationRecordKind, EvaluationRecordQuery } from "./evaluations/records.js";
export type { ResultsRow, ResultsTrial } from "./evaluations/results.js";
export type { ScoreStats } from "./evaluations/score-stats.js";
export type { RunSummary } from "./evaluations/summarize.js";
export type { Feedback } from "./feedback/feedback.js";
export type { CreatedFeedback, NewFeedback } from "./feedback/requests.js";
export type { Files, StoredFile } from "./files/files.js";
export type { Objects } from "./objects/objects.js";
export type {
  Among,
  CreatedObject,
  DeletedObjects,
  ObjectCreate,
  ObjectDelete,
  ObjectFilter,
  ObjectQuery,
  ObjectRead,
  StoredObject,
} from "./objects/requests.js";
export { followRefs } from "./refs/refs.js";
export type { Refs } from "./refs/refs.js";
export type { Tables } from "./tables/tables.js";
export type { Thread, Threads, ThreadsQuery, TurnFilter } from "./threads/threads.js";
export type { TraceOutline, TraceOutlineRequest } from "./traces/outline.js";
export type { Traces } from "./traces/traces.js";
export type { TableCreate, TableEdit, TableQuery, TableRow, TableStats, TableUpdate } from "./tables/requests.js";
export type { Retention } from "./retention/retention.js";
export type { ProjectCalls } from "./project-stats/project-calls.js";
export type { ProjectStats, ProjectStatsRequest } from "./project-stats/project-stats.js";
export type { CostCreate, CostQuery, Costs, PriceFields, PriceInput } from "./costs/costs.js";
export type { Price } from "./costs/price.js";
