import { StatementSql } from "./statement-sql.js";

/** A statement over calls: in addition the joins that turned out to be needed. */
export class CallSql extends StatementSql {
  readonly joins: string[] = [];
  /** Set when a field needs the renames of calls. */
  names = false;
}
