import type { Readable } from "node:stream";
import { describeStatement } from "../engine/statement.js";
import type { StatementInfo } from "../engine/statement.js";
import { ServerError } from "../engine/server-error.js";
import type { QueryRequest } from "./query-request.js";

export interface Execution {
  request: QueryRequest;
  statement: StatementInfo;
  sql: string;
  /** What follows the statement; only an INSERT has data. */
  data: Readable | undefined;
  format: string;
}

export const defaultFormat = "TabSeparated";

/** Looks at the statement once its text is there. */
export function prepare(request: QueryRequest, sql: string, data: Readable | undefined): Execution {
  const statement = describeStatement(sql);
  if (statement.multiple) {
    throw ServerError.of(
      62,
      "SYNTAX_ERROR",
      "Syntax error (Multi-statements are not allowed): a request takes one statement.",
    );
  }
  const ownFormat = statement.kind === "insert" ? undefined : statement.format;
  return { request, statement, sql, data, format: ownFormat ?? request.defaultFormat ?? defaultFormat };
}
