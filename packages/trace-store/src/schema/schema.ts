import type { TableFacts } from "./table-facts.js";

export const defaultDatabase = "trace";

/**
 * Every table of the tracing database. A new one is an entry here and a migration with `createTable` of it.
 *
 * Times are microseconds, UTC. Free JSON is stored as the text that was sent. Where `JSONExtract` cannot read that text,
 * the column holds a query-safe text and `exact` the original (`storable` of @heddle/trace-model makes both).
 */
export const schema = {
  // Complete calls. ReplacingMergeTree only collapses what call_hidden already hides.
  // op_key: the op ref up to its last ':', or the raw op_name; the filter `name:*` compares it.
  calls: {
    columns: `project_id LowCardinality(String), id String CODEC(ZSTD(1)), trace_id String CODEC(ZSTD(1)), parent_id String CODEC(ZSTD(1)),
      thread_id String CODEC(ZSTD(1)), turn_id String CODEC(ZSTD(1)),
      op_name LowCardinality(String), op_key LowCardinality(String), display_name String, user_id LowCardinality(String),
      run_id LowCardinality(String), run_step Nullable(UInt64) CODEC(ZSTD(1)), run_step_end Nullable(UInt64) CODEC(ZSTD(1)),
      source LowCardinality(String),
      started_at DateTime64(6,'UTC') CODEC(Delta(8), ZSTD(1)), ended_at Nullable(DateTime64(6,'UTC')) CODEC(ZSTD(1)),
      latency_us Int64 CODEC(ZSTD(1)),
      status Enum8('success'=0, 'error'=1, 'running'=2, 'descendant_error'=3),
      attributes String CODEC(ZSTD(1)), inputs String CODEC(ZSTD(1)), output String CODEC(ZSTD(1)), summary String CODEC(ZSTD(1)),
      exception String CODEC(ZSTD(1)), exact Map(LowCardinality(String), String) CODEC(ZSTD(1)), size_bytes UInt64 CODEC(ZSTD(1)),
      input_refs Array(String) CODEC(ZSTD(1)), output_refs Array(String) CODEC(ZSTD(1)),
      usage Nested(model LowCardinality(String), requests UInt64, prompt_tokens UInt64, completion_tokens UInt64,
        total_tokens UInt64, cache_read_tokens UInt64, cache_creation_tokens UInt64),
      expire_at DateTime('UTC') DEFAULT toDateTime('2106-01-01 00:00:00','UTC'),
      received_at DateTime64(3,'UTC') DEFAULT now64(3), version UInt64 CODEC(Delta(8), ZSTD(1)),
      INDEX i_id id TYPE bloom_filter(0.01) GRANULARITY 1, INDEX i_trace trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
      INDEX i_parent parent_id TYPE bloom_filter(0.01) GRANULARITY 1, INDEX i_thread thread_id TYPE bloom_filter(0.01) GRANULARITY 1,
      INDEX i_op op_name TYPE bloom_filter(0.01) GRANULARITY 1, INDEX i_lat latency_us TYPE minmax GRANULARITY 1,
      INDEX i_in input_refs TYPE bloom_filter(0.01) GRANULARITY 1, INDEX i_out output_refs TYPE bloom_filter(0.01) GRANULARITY 1,
      INDEX i_version version TYPE minmax GRANULARITY 1`,
    engine: "ReplacingMergeTree",
    versionColumn: "version",
    partitionBy: "toYYYYMM(started_at)",
    orderBy: ["project_id", "started_at", "id"],
    ttlColumn: "expire_at",
    indexGranularity: 1024,
    // FINAL would read the whole project, and miss a replaced version that has another start time.
    final: false,
    durable: true,
    backupPhase: 2,
    compacted: true,
    deduplicates: true,
  },

  // Open sides: starts without an end (running calls) and ends without a start (invisible).
  // Clean-up sees both rows of a key only in one partition.
  call_parts: {
    columns: `project_id LowCardinality(String), id String, part Enum8('start'=1, 'end'=2), trace_id String, parent_id String,
      thread_id String, turn_id String, op_name LowCardinality(String), op_key LowCardinality(String), display_name String,
      user_id LowCardinality(String), run_id LowCardinality(String), run_step Nullable(UInt64), run_step_end Nullable(UInt64),
      source LowCardinality(String), started_at DateTime64(6,'UTC'), ended_at Nullable(DateTime64(6,'UTC')),
      attributes String CODEC(ZSTD(1)), inputs String CODEC(ZSTD(1)), output String CODEC(ZSTD(1)), summary String CODEC(ZSTD(1)),
      exception Nullable(String), exact Map(LowCardinality(String), String), size_bytes UInt64,
      input_refs Array(String), output_refs Array(String),
      expire_at DateTime('UTC') DEFAULT toDateTime('2106-01-01 00:00:00','UTC'),
      received_at DateTime64(3,'UTC') DEFAULT now64(3), closed UInt8, version UInt64`,
    engine: "ReplacingMergeTree",
    versionColumn: "version",
    deletedColumn: "closed",
    partitionBy: "tuple()",
    orderBy: ["project_id", "id", "part"],
    ttlColumn: "expire_at",
    indexGranularity: 256,
    final: true,
    durable: true,
    // A call that ends during the backup is then in both tables, which the next start repairs, and never in none.
    backupPhase: 1,
    compacted: true,
    cleanedUp: true,
    deduplicates: true,
  },

  call_names: {
    columns: "project_id LowCardinality(String), id String, display_name String, version UInt64",
    engine: "ReplacingMergeTree",
    versionColumn: "version",
    orderBy: ["project_id", "id"],
    indexGranularity: 1024,
    final: true,
    durable: true,
    backupPhase: 1,
    compacted: true,
    callColumn: "id",
    deduplicates: true,
  },

  // What readers must not see: one exact version that was replaced (version > 0), or every version of a deleted
  // call (version = 0). Once the rows themselves are gone compacted_at is set: reads skip the row, and ingest still
  // refuses late parts of deleted ids.
  call_hidden: {
    columns: `project_id LowCardinality(String), id String, version UInt64, started_at DateTime64(6,'UTC'),
      reason Enum8('replaced'=1, 'deleted'=2), hidden_by String, hidden_at DateTime64(3,'UTC') DEFAULT now64(3),
      compacted_at Nullable(DateTime64(3,'UTC')), row_version UInt64`,
    engine: "ReplacingMergeTree",
    versionColumn: "row_version",
    orderBy: ["project_id", "id", "version"],
    indexGranularity: 1024,
    final: true,
    durable: true,
    backupPhase: 1,
    compacted: false,
    deduplicates: true,
  },

  // Where the complete calls with an id are, for look-ups without a time: `idKey` of the id, and when a version of the call
  // started. It is filled once a minute, up to a
  // watermark. Rows may outlive their calls, and several ids may share a key.
  call_ids: {
    columns:
      "project_id LowCardinality(String), id_key UInt64 CODEC(Delta(8), LZ4), started_at DateTime64(6,'UTC') CODEC(Delta(8), LZ4)",
    engine: "ReplacingMergeTree",
    versionColumn: null,
    orderBy: ["project_id", "id_key", "started_at"],
    indexGranularity: 512,
    final: false,
    durable: true,
    backupPhase: 2,
    compacted: false,
    derived: true,
  },

  // How far the store is known to be consistent, and what of it need not be looked at again; see `Watermarks`.
  watermarks: {
    columns: "name LowCardinality(String), value Int64, version UInt64",
    engine: "ReplacingMergeTree",
    versionColumn: "version",
    orderBy: ["name"],
    final: true,
    durable: true,
    backupPhase: 0,
    compacted: false,
    derived: true,
  },

  // version_index is assigned at create (greatest ever used + 1, deleted versions included), never derived.
  // Latest = live row with the greatest (published_at, version_index) per kind.
  objects: {
    columns: `project_id LowCardinality(String), kind Enum8('object'=1, 'op'=2), object_id String, digest String, version_index UInt32,
      base_class LowCardinality(String), leaf_class LowCardinality(String), val String CODEC(ZSTD(1)), exact String CODEC(ZSTD(1)),
      refs Array(String) CODEC(ZSTD(1)), size_bytes UInt64, user_id LowCardinality(String),
      created_at DateTime64(6,'UTC'), published_at DateTime64(6,'UTC'), deleted_at Nullable(DateTime64(6,'UTC')), version UInt64`,
    engine: "ReplacingMergeTree",
    versionColumn: "version",
    orderBy: ["project_id", "kind", "object_id", "digest"],
    indexGranularity: 512,
    final: true,
    durable: true,
    backupPhase: 2,
    compacted: false,
  },

  object_aliases: {
    columns: `project_id LowCardinality(String), kind Enum8('object'=1, 'op'=2), object_id String, alias String, digest String,
      deleted UInt8, version UInt64`,
    engine: "ReplacingMergeTree",
    versionColumn: "version",
    deletedColumn: "deleted",
    orderBy: ["project_id", "kind", "object_id", "alias"],
    indexGranularity: 512,
    final: true,
    durable: true,
    backupPhase: 1,
    compacted: false,
  },

  object_tags: {
    columns: `project_id LowCardinality(String), kind Enum8('object'=1, 'op'=2), object_id String, digest String, tag String,
      deleted UInt8, version UInt64`,
    engine: "ReplacingMergeTree",
    versionColumn: "version",
    deletedColumn: "deleted",
    orderBy: ["project_id", "kind", "object_id", "digest", "tag"],
    indexGranularity: 512,
    final: true,
    durable: true,
    backupPhase: 1,
    compacted: false,
  },

  // A later step adds size_bytes.
  table_rows: {
    columns: `project_id LowCardinality(String), digest String, val String CODEC(ZSTD(1)), exact String CODEC(ZSTD(1)),
      created_at DateTime64(3,'UTC') DEFAULT now64(3)`,
    engine: "ReplacingMergeTree",
    versionColumn: null,
    orderBy: ["project_id", "digest"],
    indexGranularity: 512,
    final: true,
    durable: true,
    backupPhase: 2,
    compacted: false,
  },

  tables: {
    columns: `project_id LowCardinality(String), digest String, row_digests Array(String) CODEC(ZSTD(1)),
      row_count UInt64 MATERIALIZED length(row_digests), created_at DateTime64(3,'UTC') DEFAULT now64(3)`,
    engine: "ReplacingMergeTree",
    versionColumn: null,
    orderBy: ["project_id", "digest"],
    indexGranularity: 64,
    final: true,
    durable: true,
    backupPhase: 1,
    compacted: false,
  },

  // The bytes are in the blob store, always; this is their index per project.
  files: {
    columns: `project_id LowCardinality(String), digest String, name String, size_bytes UInt64, mime LowCardinality(String),
      blob_key String, created_at DateTime64(3,'UTC') DEFAULT now64(3)`,
    engine: "ReplacingMergeTree",
    versionColumn: null,
    orderBy: ["project_id", "digest"],
    indexGranularity: 256,
    final: true,
    durable: true,
    backupPhase: 1,
    compacted: false,
  },

  // call_id: the id of the call that ref names; '' for refs of anything else. The key holds what is looked up by an index,
  // so that the index is right for readers with FINAL. Ids are unique within a project: writes see to it.
  feedback: {
    columns: `project_id LowCardinality(String), id String, call_id String CODEC(ZSTD(1)), ref String CODEC(ZSTD(1)),
      type LowCardinality(String), creator String, user_id LowCardinality(String),
      created_at DateTime64(6,'UTC') CODEC(Delta(8), ZSTD(1)), payload String CODEC(ZSTD(1)), exact String CODEC(ZSTD(1)),
      annotation_ref String CODEC(ZSTD(1)), runnable_ref String CODEC(ZSTD(1)), call_ref String CODEC(ZSTD(1)),
      trigger_ref String CODEC(ZSTD(1)), queue_id String CODEC(ZSTD(1)),
      scorer_tags String CODEC(ZSTD(1)), scorer_tag_reasons String CODEC(ZSTD(1)), scorer_tag_confidences String CODEC(ZSTD(1)),
      scorer_ratings String CODEC(ZSTD(1)), scorer_rating_reasons String CODEC(ZSTD(1)),
      scorer_rating_confidences String CODEC(ZSTD(1)),
      span_agent_name LowCardinality(String), span_agent_version LowCardinality(String), span_status_code LowCardinality(String),
      span_conversation_id String CODEC(ZSTD(1)), span_trace_id String CODEC(ZSTD(1)), scorer_trace_id String CODEC(ZSTD(1)),
      deleted UInt8, version UInt64 CODEC(Delta(8), ZSTD(1)),
      INDEX i_id id TYPE bloom_filter(0.01) GRANULARITY 1, INDEX i_ref ref TYPE bloom_filter(0.01) GRANULARITY 1`,
    engine: "ReplacingMergeTree",
    versionColumn: "version",
    deletedColumn: "deleted",
    orderBy: ["project_id", "call_id", "ref", "type", "id"],
    indexGranularity: 1024,
    final: true,
    durable: true,
    backupPhase: 1,
    // The feedback of a deleted call stays readable on its own.
    compacted: false,
    callColumn: "call_id",
  },

  // For how many days a project keeps its calls; 0 = indefinitely.
  retention: {
    columns: `project_id LowCardinality(String), days UInt32, updated_by String, updated_at DateTime64(3,'UTC') DEFAULT now64(3),
      version UInt64`,
    engine: "ReplacingMergeTree",
    versionColumn: "version",
    orderBy: ["project_id"],
    final: true,
    durable: true,
    backupPhase: 1,
    compacted: false,
  },

  // Prices of models that a project has set. Rows are added and removed, never changed; the default list is not a table.
  costs: {
    columns: `project_id LowCardinality(String), id String, llm_id String, provider_id String, effective_date DateTime64(6,'UTC'),
      prompt_token_cost Float64, completion_token_cost Float64, cache_read_input_token_cost Float64,
      cache_creation_input_token_cost Float64, prompt_token_cost_unit LowCardinality(String),
      completion_token_cost_unit LowCardinality(String), created_at DateTime64(6,'UTC'), created_by String,
      deleted UInt8, version UInt64`,
    engine: "ReplacingMergeTree",
    versionColumn: "version",
    deletedColumn: "deleted",
    orderBy: ["project_id", "id"],
    indexGranularity: 512,
    final: true,
    durable: true,
    backupPhase: 2,
    compacted: false,
  },

  // The steps that `migrate` has applied.
  schema_migrations: {
    columns: "version UInt32, name String, checksum String, applied_at DateTime64(3,'UTC') DEFAULT now64(3)",
    engine: "ReplacingMergeTree",
    versionColumn: null,
    orderBy: ["version"],
    final: true,
    durable: true,
    backupPhase: 2,
    compacted: false,
  },

  // The control planes that claimed the database; the first one owns it.
  control_plane: {
    columns: "id String, bound_at DateTime64(6,'UTC') DEFAULT now64(6)",
    engine: "MergeTree",
    versionColumn: null,
    orderBy: ["bound_at", "id"],
    final: false,
    durable: true,
    backupPhase: 2,
    compacted: false,
  },
} as const satisfies Record<string, TableFacts>;

export type TableName = keyof typeof schema;

/** The tables in the order of their entries. */
export const tableFacts: ReadonlyArray<readonly [TableName, TableFacts]> = Object.entries(schema) as Array<
  [TableName, TableFacts]
>;
