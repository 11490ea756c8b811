import { CallFeedback } from "./call-feedback.js";
import { StatementSql } from "./statement-sql.js";

/** A statement over calls: in addition the joins that turned out to be needed. */
export class CallSql extends StatementSql {
  readonly joins: string[] = [];
  /** Joined after everything else. */
  readonly feedback = new CallFeedback(this);
  /** Set when a field needs the renames of calls. */
  names = false;
}
