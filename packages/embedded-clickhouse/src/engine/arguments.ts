import { join } from "node:path";

const megabyte = 1_000_000;
/** Resident memory of a host whose engine holds nothing yet. */
const idleHostBytes = 300 * megabyte;
/** Measured: resident memory above the idle host is up to 1.6 times what the engine accounts for. */
const residentPerAccounted = 1.6;
const smallestEngineBytes = 300 * megabyte;

/** Settings that every session starts with; a request's own settings come on top. */
const sessionDefaults = {
  max_query_size: 64 * 1024 * 1024,
  max_execution_time: 60,
  output_format_json_quote_64bit_integers: 1,
  // A server reads a bare word as a syntax error, not as SELECT word.
  implicit_select: 0,
  // An insert into a disk that is nearly full is refused before it begins.
  min_free_disk_bytes_to_perform_insert: 32 * 1024 * 1024,
  // A chunk of a streamed result is one block: of 65,000 rows, a server's default, payloads made 135 MB.
  max_block_size: 16_384,
  // Small results: threads that format them are woken a dozen times for each, and on a busy machine each has to wait.
  output_format_parallel_formatting: 0,
  // No table has statistics, and to look for them in each part takes a fifth of the time of a small read.
  use_statistics: 0,
  use_statistics_for_part_pruning: 0,
  // Threads that read files beside the query cost it 1 to 2 ms, and gain nothing from a local disk.
  local_filesystem_read_method: "pread",
};

/**
 * Small parts are soon merged into larger ones and compressed again: they have the engine's default, LZ4, which costs a
 * fifth of the CPU of ZSTD. Large parts stay, and ZSTD halves them. Of columns without a codec of their own.
 */
const compression = {
  // The section counts as given only when it has a value itself.
  compression: 1,
  "compression.case.min_part_size": 64 * 1024 * 1024,
  "compression.case.method": "zstd",
  "compression.case.level": 1,
};

/**
 * The engine's command line for a host that may use `memoryBytes` of resident memory.
 * Every session has to be opened with it: settings given here belong to the session, the rest to the first one.
 */
export function engineArguments(directory: string, memoryBytes: number): string[] {
  const engineBytes = Math.max(smallestEngineBytes, Math.floor((memoryBytes - idleHostBytes) / residentPerAccounted));
  const spillBytes = Math.floor(engineBytes / 4);
  const values: Record<string, string | number> = {
    ...sessionDefaults,
    max_bytes_before_external_sort: spillBytes,
    max_bytes_before_external_group_by: spillBytes,
    max_server_memory_usage: engineBytes,
    mark_cache_size: Math.min(128 * megabyte, Math.floor(engineBytes / 8)),
    // Each thread of the engine holds three file descriptors.
    max_thread_pool_size: 256,
    "backups.allowed_path": join(directory, "backups"),
    ...compression,
  };
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}
