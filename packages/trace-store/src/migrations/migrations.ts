import { createTable } from "../schema/create-table.js";
import type { Migration } from "./migration.js";

const tracingTables = [
  createTable("calls"),
  createTable("call_parts"),
  createTable("call_names"),
  createTable("call_hidden"),
  createTable("objects"),
  createTable("object_aliases"),
  createTable("object_tags"),
  createTable("table_rows"),
  createTable("tables"),
  createTable("files"),
];

/** The bytes of a row as it was sent, so that measuring tables reads no rows. */
const tableRowSize =
  "ALTER TABLE {DB}.table_rows {OC} ADD COLUMN IF NOT EXISTS size_bytes UInt64 MATERIALIZED length(if(exact = '', val, exact))";

/**
 * The row of data that a call for `<evaluation>.predict_and_score` is about, as `exampleDigest` of the trace model defines
 * it; '' for other calls. Calls that were stored before have the digest of the text of their example.
 */
const exampleDigest = `example_digest String DEFAULT if(match(op_key, '\\\\.(predict_and_score|predictAndScore)$'),
  if(match(JSONExtractString(inputs, 'example'), '^weave:///.*/(attr/rows|table/[^/]+)/id/[^/]+$'),
    extract(JSONExtractString(inputs, 'example'), '/id/([^/]+)$'), lower(hex(SHA256(JSONExtractRaw(inputs, 'example'))))),
  '') CODEC(ZSTD(1))`;
const exampleDigests = ["calls", "call_parts"].map(
  (table) => `ALTER TABLE {DB}.${table} {OC} ADD COLUMN IF NOT EXISTS ${exampleDigest}`,
);

/** The columns that running calls lack, so that reads of complete and running calls are the same SQL. */
const runningColumns = [
  "status Enum8('success'=0, 'error'=1, 'running'=2, 'descendant_error'=3) ALIAS 'running'",
  "latency_us Nullable(Int64) ALIAS NULL",
  "usage.model Array(LowCardinality(String)) ALIAS []",
  ...[
    "requests",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
  ].map((name) => `usage.${name} Array(UInt64) ALIAS []`),
].map((column) => `ALTER TABLE {DB}.call_parts {OC} ADD COLUMN IF NOT EXISTS ${column}`);

/**
 * A call was merged three times while its parts were small, and compressing was half of each merge. Without a codec of
 * their own, columns follow the engine's rule for the size of a part (the embedded engine: LZ4, from 64 MB on ZSTD). And
 * more parts of about the same size are merged at once, so that a row is merged half as often under load. Once a table is
 * at rest it has about as few parts as with the default of 5, because parts that get older are merged sooner.
 */
const smallParts = [
  `ALTER TABLE {DB}.calls {OC} ${[
    ...["id", "trace_id", "parent_id", "thread_id", "turn_id"].map((name) => `${name} String`),
    ...["attributes", "inputs", "output", "summary", "exception", "example_digest"].map((name) => `${name} String`),
    ...["input_refs", "output_refs"].map((name) => `${name} Array(String)`),
    "exact Map(LowCardinality(String), String)",
  ]
    .map((column) => `MODIFY COLUMN ${column} CODEC(Default)`)
    .join(", ")}, MODIFY SETTING merge_selector_base = 12`,
  `ALTER TABLE {DB}.call_parts {OC} ${["attributes", "inputs", "output", "summary"]
    .map((name) => `MODIFY COLUMN ${name} String CODEC(Default)`)
    .join(", ")}`,
];

/** What a call reports to have used, where that is not what it used itself; see `derivedColumns`. */
const reportedUsage = [
  "ALTER TABLE {DB}.calls {OC} ADD COLUMN IF NOT EXISTS reported_usage String",
  "ALTER TABLE {DB}.call_parts {OC} ADD COLUMN IF NOT EXISTS reported_usage String ALIAS ''",
];

/** What a call states to be, see `callKind`; calls that were stored before state nothing. */
const statedKinds = ["calls", "call_parts"].map(
  (table) => `ALTER TABLE {DB}.${table} {OC} ADD COLUMN IF NOT EXISTS stated_kind LowCardinality(String)`,
);

/**
 * What recovery reads: how far the store is consistent, calls by id, and recent rows by their version. The window holds the
 * tokens of the last inserts, so that one of unknown outcome can be repeated.
 */
const recovery = [
  createTable("watermarks"),
  createTable("call_ids"),
  "ALTER TABLE {DB}.calls {OC} MODIFY SETTING non_replicated_deduplication_window = 1000",
  ...["call_parts version", "call_names version", "call_hidden row_version"].map((indexed) => {
    const [table, column] = indexed.split(" ");
    return `ALTER TABLE {DB}.${table} {OC} ADD INDEX IF NOT EXISTS i_version ${column} TYPE minmax GRANULARITY 1,
      MODIFY SETTING non_replicated_deduplication_window = 1000`;
  }),
  ...["objects", "object_aliases", "object_tags", "feedback"].map(
    (table) => `ALTER TABLE {DB}.${table} {OC} ADD INDEX IF NOT EXISTS i_version version TYPE minmax GRANULARITY 1`,
  ),
];

/**
 * What lists show of a call besides its payloads as a JSON list, in the order of `briefColumns`, which ends with `all` unless a
 * long exception or the originals of payloads have to be read, too: one column takes the engine less time than fourteen.
 */
const brief = ({ status, latency, exception }: { status: string; latency: string; exception: string }) =>
  `toJSONString(CAST([trace_id, parent_id, thread_id, turn_id, toString(op_name), display_name, toString(user_id),
    toString(run_id), toString(run_step), toString(run_step_end), ${status}, ${latency},
    toString(toUnixTimestamp64Micro(ended_at)), if(length(${exception}) <= 1000, nullIf(${exception}, ''), NULL),
    if(length(${exception}) <= 1000 AND empty(mapKeys(exact)), 'all', NULL)], 'Array(Nullable(String))'))`;
const complete = { status: "toString(status)", latency: "toString(latency_us)", exception: "exception" };
const running = { status: "'running'", latency: "NULL", exception: "ifNull(exception, '')" };
const briefs = [
  `ALTER TABLE {DB}.calls {OC} ADD COLUMN IF NOT EXISTS brief String MATERIALIZED ${brief(complete)}`,
  `ALTER TABLE {DB}.call_parts {OC} ADD COLUMN IF NOT EXISTS brief String ALIAS ${brief(running)}`,
];

/** All steps, in order, numbered from 1 without gaps. */
export const allMigrations: readonly Migration[] = [
  { version: 1, name: "tracing tables", statements: tracingTables },
  { version: 2, name: "feedback", statements: [createTable("feedback")] },
  { version: 3, name: "retention and sizes of table rows", statements: [createTable("retention"), tableRowSize] },
  { version: 4, name: "costs", statements: [createTable("costs")] },
  { version: 5, name: "rows of evaluations", statements: exampleDigests },
  { version: 6, name: "columns of running calls", statements: runningColumns },
  { version: 7, name: "compression and merges of small parts", statements: smallParts },
  { version: 8, name: "reported usage", statements: reportedUsage },
  { version: 9, name: "kinds of calls", statements: statedKinds },
  { version: 10, name: "bounded recovery", statements: recovery },
  { version: 11, name: "briefs of calls", statements: briefs, isAddition: true },
];
