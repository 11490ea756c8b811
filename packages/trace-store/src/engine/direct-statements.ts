import { parseError } from "@clickhouse/client";
import type { ClickHouseSettings } from "@clickhouse/client";
import type { ParameterValue } from "./parameters.js";
import { withLiterals } from "./with-literals.js";

/** A statement that reads, with its parameters written into it. */
interface ReadingStatement {
  sql: string;
  database: string;
  settings: Readonly<Record<string, string>>;
  signal: AbortSignal | undefined;
}

/**
 * A faster way for statements that read, which the embedded engine has: `Statements` of its package. Rows are lines of
 * JSON; an error of the engine has its text as the message.
 */
export interface ReadingStatements {
  whole(statement: ReadingStatement): Promise<string>;
  /** Some whole lines at a time, with back-pressure. Leaving the loop stops the statement. */
  pieces(statement: ReadingStatement): AsyncIterable<string>;
  close(): void;
}

interface DirectStatement {
  sql: string;
  params: Readonly<Record<string, ParameterValue>>;
  settings: ClickHouseSettings;
  signal: AbortSignal | undefined;
}

/** Both throw what the client library throws. */
export interface DirectStatements {
  /** All rows. */
  rows<T>(statement: DirectStatement): Promise<T[]>;
  /** Rows one by one, with back-pressure. Leaving the loop stops the statement. */
  stream<T>(statement: DirectStatement): AsyncIterable<T>;
}

export function directStatements(statements: ReadingStatements, database: string): DirectStatements {
  const reading = ({ sql, params, settings, signal }: DirectStatement): ReadingStatement => ({
    sql: withLiterals(sql, params),
    database,
    settings: asTexts(settings),
    signal,
  });
  return {
    async rows<T>(statement: DirectStatement) {
      try {
        return parseRows<T>(await statements.whole(reading(statement)));
      } catch (error) {
        throw asOfClient(error);
      }
    },
    async *stream<T>(statement: DirectStatement) {
      try {
        for await (const lines of statements.pieces(reading(statement))) yield* parseRows<T>(lines);
      } catch (error) {
        throw asOfClient(error);
      }
    },
  };
}

function asTexts(settings: ClickHouseSettings): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(settings)) {
    if (value !== undefined) texts[name] = typeof value === "boolean" ? String(Number(value)) : String(value);
  }
  return texts;
}

/** Line ends inside of texts are escaped. */
function parseRows<T>(lines: string): T[] {
  return JSON.parse(`[${lines.trimEnd().replaceAll("\n", ",")}]`) as T[];
}

function asOfClient(error: unknown): unknown {
  return error instanceof Error && error.message.startsWith("Code: ") ? parseError(error.message) : error;
}
