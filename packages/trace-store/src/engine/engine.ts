import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { ClickHouseLogLevel, createClient } from "@clickhouse/client";
import type { ClickHouseClient, ClickHouseClientConfigOptions, ClickHouseSettings } from "@clickhouse/client";
import { directStatements } from "./direct-statements.js";
import type { DirectStatements, ReadingStatements } from "./direct-statements.js";
import { textIndexNames } from "../schema/text-index-names.js";
import { engineFailure, isConnectionLoss } from "./engine-failure.js";
import { engineProcess } from "./engine-process.js";
import type { Parameters } from "./parameters.js";

/**
 * How to reach the engine: URL, agent and credentials, as a ClickHouse client takes them, and for what reads a faster way,
 * which the connection keeps for itself.
 */
export interface EngineConnection extends Pick<
  ClickHouseClientConfigOptions,
  "url" | "http_agent" | "username" | "password" | "request_timeout"
> {
  statements?: ReadingStatements | undefined;
}

export interface StatementOptions {
  signal?: AbortSignal;
  /** ClickHouse settings of this statement only. */
  settings?: ClickHouseSettings;
}

/** SQL and its parameters. As a function it is called when the statement is handed to the engine, not before. */
export interface Statement {
  sql: string;
  params?: Parameters;
}
export type StatementSource = Statement | (() => Statement);

/**
 * The one way to the engine. 64-bit integers arrive as strings of digits.
 * All of it throws `HeddleError` (code `busy`) when the engine cannot respond now, and `StatementError` when it refuses.
 */
export interface Engine {
  /** All rows of a result that is known to be small. A lost connection is tried once more. */
  rows<T>(statement: StatementSource, options?: StatementOptions): Promise<T[]>;
  /** Rows one by one, with back-pressure. Leaving the loop or aborting stops the statement. */
  stream<T>(statement: StatementSource, options?: StatementOptions): AsyncIterable<T>;
  /**
   * Stores rows, each a line in the TabSeparated format (`RowWriter` writes it), and resolves when they are on disk. When the
   * connection is lost it is repeated, once, where the engine is sure to store the rows once. After `busy` it is unknown
   * whether they are stored.
   */
  insert(table: string, columns: readonly string[], rows: readonly Uint8Array[]): Promise<void>;
  /** Resolves when the inserts that have begun have been sent, or soon when that takes long. */
  sent(): Promise<void>;
  /** DDL and maintenance. Parameters travel in the URL: no lists here. Never repeated. */
  command(statement: Statement, options?: StatementOptions): Promise<void>;
  close(): Promise<void>;
}

/** Other work waits at most this long for inserts to be sent. */
const sentMs = 20;

const readSettings: ClickHouseSettings = {
  output_format_json_quote_64bit_integers: 1,
  // A long statement is refused for its number of conditions (code 168), not as if its SQL were wrong. Lists may be part of it.
  max_query_size: "67108864",
};

const insertSettings: ClickHouseSettings = {
  async_insert: 0,
  // Prices are stored as the numbers that were sent; the faster parser may be off by one digit.
  precise_float_parsing: 1,
  // One insert is one block, so that it is stored whole or not at all.
  input_format_parallel_parsing: 0,
  max_insert_block_size: "1000000",
  min_insert_block_size_rows: "1000000",
  min_insert_block_size_bytes: "268435456",
  max_partitions_per_insert_block: "0",
  // No insert holds two rows of one key: the engine would compare its rows with each other for nothing.
  optimize_on_insert: 0,
};

/** The first merge indexes what was inserted: until then it is little, and is read. Servers may be too old for this. */
const leaveTextIndex = { exclude_materialize_skip_indexes_on_insert: textIndexNames.join(", ") };

export interface InsertOptions {
  /** With what the ids of inserts begin, by which they are found among the statements of all others. */
  namePrefix?: string;
  /** Tables that store an insert with a known deduplication token once. */
  deduplicated?: ReadonlySet<string>;
  /** Asked before an insert is repeated. */
  mayRepeat?: () => boolean;
  /** Whether the tables are replicated: an insert is then stored by most of their servers when it ends. */
  isReplicated?: boolean;
}

/** Connects to the engine; nothing is sent before the first statement. */
export function connectEngine(
  { statements, ...connection }: EngineConnection,
  database: string,
  { namePrefix = "", deduplicated = new Set(), mayRepeat = () => true, isReplicated = false }: InsertOptions = {},
): Engine {
  const client = createClient({
    request_timeout: 60_000,
    max_open_connections: 16,
    ...connection,
    database,
    // Several clients may share a given agent. Each would end sockets that it last used itself and another is using
    // now, and closing one would end all of them: such an agent is left to whoever made it.
    ...(connection.http_agent && { keep_alive: { idle_socket_ttl: 0 } }),
    clickhouse_settings: readSettings,
    use_multipart_params_auto: true,
    // Every error is thrown; the client would print it as well.
    log: { level: ClickHouseLogLevel.OFF },
  });
  const process = engineProcess(client);
  /** The log of tokens is ahead of the rows for a moment, which a process that was killed leaves so. */
  const canRepeat = async (error: unknown, table: string): Promise<boolean> =>
    deduplicated.has(table) && isConnectionLoss(error) && mayRepeat() && (await process.isSame()) && mayRepeat();
  const sending = new Set<Promise<void>>();
  const isServer = connection.http_agent === undefined;
  const direct = statements && directStatements(statements, database);
  const abortable = (options: StatementOptions | undefined): StatementOptions | undefined =>
    isServer && options?.signal !== undefined
      ? { ...options, settings: { ...options.settings, ...abortableSettings } }
      : options;
  return {
    rows: (statement, options) => rows({ client, direct }, statement, abortable(options)),
    stream: (statement, options) => stream({ client, direct }, statement, abortable(options)),
    insert: async (table, columns, rows) => {
      if (deduplicated.has(table)) await process.notice();
      const values = Readable.from(joined(rows), { objectMode: false });
      const settings = {
        ...insertSettings,
        ...(!isServer && leaveTextIndex),
        ...(isReplicated && { insert_quorum: "auto" }),
      };
      const into = { table, columns, settings, name: namePrefix + randomUUID() };
      const stored = insert(client, into, values).catch(async (error: unknown) => {
        if (!(await canRepeat(error, table).catch(() => false))) throw engineFailure(error);
        const again = { ...into, name: namePrefix + randomUUID(), token: into.name };
        await insert(client, again, Readable.from(joined(rows), { objectMode: false })).catch((failure: unknown) => {
          throw engineFailure(failure);
        });
      });
      const settled = () => {};
      const sent = Promise.race([once(values, "close"), stored]).then(settled, settled);
      sending.add(sent);
      void sent.then(() => sending.delete(sent));
      await stored;
    },
    sent: async () => {
      if (sending.size > 0) await Promise.race([Promise.all(sending), delay(sentMs)]);
    },
    command: (statement, options) => command(client, statement, named(statement, options, namePrefix)),
    close: async () => {
      statements?.close();
      if (connection.http_agent === undefined) await client.close();
    },
  };
}

/**
 * What the engine inserts of what it reads itself has a name, too, with another beginning: a recovery, which ends inserts by
 * the beginning, need not end what it or maintenance makes again.
 */
function named(
  { sql }: Statement,
  options: StatementOptions | undefined,
  namePrefix: string,
): StatementOptions | undefined {
  if (namePrefix === "" || !sql.startsWith("INSERT ")) return options;
  return { ...options, settings: { ...options?.settings, log_comment: `by ${namePrefix}${randomUUID()}` } };
}

interface RowsSource {
  client: ClickHouseClient;
  direct: DirectStatements | undefined;
}

async function rows<T>(source: RowsSource, statement: StatementSource, options?: StatementOptions): Promise<T[]> {
  try {
    return await rowsOnce<T>(source, statement, options);
  } catch (error) {
    if (!isConnectionLoss(error) || options?.signal?.aborted === true) throw engineFailure(error, options?.signal);
  }
  try {
    return await rowsOnce<T>(source, statement, options);
  } catch (error) {
    throw engineFailure(error, options?.signal);
  }
}

async function rowsOnce<T>(
  { client, direct }: RowsSource,
  source: StatementSource,
  options?: StatementOptions,
): Promise<T[]> {
  const statement = typeof source === "function" ? source() : source;
  if (direct !== undefined) return await direct.rows<T>(directStatement(statement, options ?? {}));
  const whole = { ...options, settings: { ...options?.settings, wait_end_of_query: 1 } } as const;
  const rows: T[] = [];
  for await (const row of rowsOf<T>(client, statement, whole)) rows.push(row);
  return rows;
}

function directStatement({ sql, params }: Statement, { settings, signal }: StatementOptions) {
  return { sql, params: params?.values ?? {}, settings: { ...readSettings, ...settings }, signal };
}

async function* stream<T>(
  { client, direct }: RowsSource,
  source: StatementSource,
  options?: StatementOptions,
): AsyncGenerator<T, void, undefined> {
  try {
    const statement = typeof source === "function" ? source() : source;
    yield* direct?.stream<T>(directStatement(statement, options ?? {})) ?? rowsOf<T>(client, statement, options);
  } catch (error) {
    throw engineFailure(error, options?.signal);
  }
}

/** The embedded engine stops a statement whose connection is closed; a server does so only for these settings. */
const abortableSettings: ClickHouseSettings = { cancel_http_readonly_queries_on_client_close: 1, readonly: "2" };

async function* rowsOf<T>(
  client: ClickHouseClient,
  source: StatementSource,
  options: StatementOptions | undefined,
): AsyncGenerator<T, void, undefined> {
  const signal = options?.signal;
  const result = await client.query({ ...request(source, options), format: "JSONEachRow" });
  const chunks = result.stream<T>();
  // The client drops the signal once the response begins.
  const stop = () => chunks.destroy(new Error("aborted"));
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted === true) stop();
  try {
    for await (const chunk of chunks) for (const row of chunk) yield row.json();
  } finally {
    signal?.removeEventListener("abort", stop);
    chunks.destroy();
    result.close();
  }
}

interface Insert {
  table: string;
  columns: readonly string[];
  settings: ClickHouseSettings;
  /** Of the statement: a server knows it by its id, the embedded engine, which makes ids of its own, by the comment. */
  name: string;
  /** That of the insert that is repeated; its own name. */
  token?: string;
}

async function insert(
  client: ClickHouseClient,
  { table, columns, settings, name, token = name }: Insert,
  values: Readable,
): Promise<void> {
  const result = await client.exec({
    query: `INSERT INTO ${table} (${columns.join(", ")}) FORMAT TabSeparated`,
    values,
    query_id: name,
    clickhouse_settings: { ...settings, insert_deduplication_token: token, log_comment: name },
  });
  for await (const _ of result.stream) continue;
}

/** Rows that are neighbours in memory as one piece, as those of a request mostly are: nothing is copied. */
function* joined(rows: readonly Uint8Array[]): Generator<Buffer> {
  let memory: ArrayBufferLike | undefined;
  let [from, to] = [0, 0];
  for (const { buffer, byteOffset, byteLength } of rows) {
    if (buffer !== memory || byteOffset !== to) {
      if (memory !== undefined) yield Buffer.from(memory, from, to - from);
      [memory, from] = [buffer, byteOffset];
    }
    to = byteOffset + byteLength;
  }
  if (memory !== undefined) yield Buffer.from(memory, from, to - from);
}

async function command(client: ClickHouseClient, statement: Statement, options?: StatementOptions): Promise<void> {
  try {
    await client.command(request(statement, options));
  } catch (error) {
    throw engineFailure(error, options?.signal);
  }
}

function request(source: StatementSource, options: StatementOptions | undefined) {
  const { sql, params } = typeof source === "function" ? source() : source;
  return {
    query: sql,
    query_params: params?.values,
    clickhouse_settings: options?.settings,
    abort_signal: options?.signal,
  };
}
