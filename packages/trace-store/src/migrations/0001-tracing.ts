import type { Migration } from "./migration.js";

/**
 * The tables of calls, objects, tables and files. Times are microseconds, UTC.
 *
 * Free JSON is stored as the text that came in. Where that text would blind `JSONExtract`, the column holds a
 * query-safe text and `exact` the original (`storable` of @heddle/trace-model makes both).
 */
export const tracingTables: Migration = {
  version: 1,
  name: "tracing tables",
  statements: [
    // Complete calls. Read without FINAL; Replacing only collapses what call_hidden already hides.
    // op_key: the op ref up to its last ':', or the raw op_name; the filter `name:*` compares it.
    `CREATE TABLE IF NOT EXISTS {DB}.calls {OC} (
      project_id LowCardinality(String), id String CODEC(ZSTD(1)), trace_id String CODEC(ZSTD(1)), parent_id String CODEC(ZSTD(1)),
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
      INDEX i_version version TYPE minmax GRANULARITY 1
    ) ENGINE={R}ReplacingMergeTree(version) PARTITION BY toYYYYMM(started_at) ORDER BY (project_id, started_at, id)
    TTL expire_at SETTINGS index_granularity=1024, {DUR}`,

    // Halves that have not met: starts without an end (running calls) and ends without a start (invisible).
    // Read with FINAL; closed=1 removes a half. Without PARTITION BY tuple() the clean-up would not see both rows.
    `CREATE TABLE IF NOT EXISTS {DB}.call_parts {OC} (
      project_id LowCardinality(String), id String, part Enum8('start'=1, 'end'=2), trace_id String, parent_id String,
      thread_id String, turn_id String, op_name LowCardinality(String), op_key LowCardinality(String), display_name String,
      user_id LowCardinality(String), run_id LowCardinality(String), run_step Nullable(UInt64), run_step_end Nullable(UInt64),
      source LowCardinality(String), started_at DateTime64(6,'UTC'), ended_at Nullable(DateTime64(6,'UTC')),
      attributes String CODEC(ZSTD(1)), inputs String CODEC(ZSTD(1)), output String CODEC(ZSTD(1)), summary String CODEC(ZSTD(1)),
      exception Nullable(String), exact Map(LowCardinality(String), String), size_bytes UInt64,
      input_refs Array(String), output_refs Array(String),
      expire_at DateTime('UTC') DEFAULT toDateTime('2106-01-01 00:00:00','UTC'),
      received_at DateTime64(3,'UTC') DEFAULT now64(3), closed UInt8, version UInt64
    ) ENGINE={R}ReplacingMergeTree(version, closed) PARTITION BY tuple() ORDER BY (project_id, id, part)
    TTL expire_at SETTINGS index_granularity=256, allow_experimental_replacing_merge_with_cleanup=1, {DUR}`,

    `CREATE TABLE IF NOT EXISTS {DB}.call_names {OC} (
      project_id LowCardinality(String), id String, display_name String, version UInt64
    ) ENGINE={R}ReplacingMergeTree(version) ORDER BY (project_id, id) SETTINGS index_granularity=1024, {DUR}`,

    // What readers must not see: one exact version that was replaced (version > 0), or every version of a deleted
    // call (version = 0). Once the rows themselves are gone compacted_at is set: reads skip the row, and ingest still
    // refuses late parts of deleted ids.
    `CREATE TABLE IF NOT EXISTS {DB}.call_hidden {OC} (
      project_id LowCardinality(String), id String, version UInt64, started_at DateTime64(6,'UTC'),
      reason Enum8('replaced'=1, 'deleted'=2), hidden_by String, hidden_at DateTime64(3,'UTC') DEFAULT now64(3),
      compacted_at Nullable(DateTime64(3,'UTC')), row_version UInt64
    ) ENGINE={R}ReplacingMergeTree(row_version) ORDER BY (project_id, id, version) SETTINGS index_granularity=1024, {DUR}`,

    // version_index is assigned at create (greatest ever used + 1, deleted versions included), never derived.
    // Latest = live row with the greatest (published_at, version_index) per kind.
    `CREATE TABLE IF NOT EXISTS {DB}.objects {OC} (
      project_id LowCardinality(String), kind Enum8('object'=1, 'op'=2), object_id String, digest String, version_index UInt32,
      base_class LowCardinality(String), leaf_class LowCardinality(String), val String CODEC(ZSTD(1)), exact String CODEC(ZSTD(1)),
      refs Array(String) CODEC(ZSTD(1)), size_bytes UInt64, user_id LowCardinality(String),
      created_at DateTime64(6,'UTC'), published_at DateTime64(6,'UTC'), deleted_at Nullable(DateTime64(6,'UTC')), version UInt64
    ) ENGINE={R}ReplacingMergeTree(version) ORDER BY (project_id, kind, object_id, digest) SETTINGS index_granularity=512, {DUR}`,

    `CREATE TABLE IF NOT EXISTS {DB}.object_aliases {OC} (
      project_id LowCardinality(String), kind Enum8('object'=1, 'op'=2), object_id String, alias String, digest String,
      deleted UInt8, version UInt64
    ) ENGINE={R}ReplacingMergeTree(version, deleted) ORDER BY (project_id, kind, object_id, alias) SETTINGS index_granularity=512, {DUR}`,

    `CREATE TABLE IF NOT EXISTS {DB}.object_tags {OC} (
      project_id LowCardinality(String), kind Enum8('object'=1, 'op'=2), object_id String, digest String, tag String,
      deleted UInt8, version UInt64
    ) ENGINE={R}ReplacingMergeTree(version, deleted) ORDER BY (project_id, kind, object_id, digest, tag) SETTINGS index_granularity=512, {DUR}`,

    `CREATE TABLE IF NOT EXISTS {DB}.table_rows {OC} (
      project_id LowCardinality(String), digest String, val String CODEC(ZSTD(1)), exact String CODEC(ZSTD(1)),
      created_at DateTime64(3,'UTC') DEFAULT now64(3)
    ) ENGINE={R}ReplacingMergeTree ORDER BY (project_id, digest) SETTINGS index_granularity=512, {DUR}`,

    `CREATE TABLE IF NOT EXISTS {DB}.tables {OC} (
      project_id LowCardinality(String), digest String, row_digests Array(String) CODEC(ZSTD(1)),
      row_count UInt64 MATERIALIZED length(row_digests), created_at DateTime64(3,'UTC') DEFAULT now64(3)
    ) ENGINE={R}ReplacingMergeTree ORDER BY (project_id, digest) SETTINGS index_granularity=64, {DUR}`,

    // The bytes live in the blob store, always; this is their index per project.
    `CREATE TABLE IF NOT EXISTS {DB}.files {OC} (
      project_id LowCardinality(String), digest String, name String, size_bytes UInt64, mime LowCardinality(String),
      blob_key String, created_at DateTime64(3,'UTC') DEFAULT now64(3)
    ) ENGINE={R}ReplacingMergeTree ORDER BY (project_id, digest) SETTINGS index_granularity=256, {DUR}`,
  ],
};
