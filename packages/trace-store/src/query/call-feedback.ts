import { isManyPerCall } from "@heddle/trace-model";
import type { CallField } from "@heddle/trace-model";
import { newestRows } from "../schema/read-table.js";
import { leafJson } from "./json-path.js";
import type { StatementSql } from "./statement-sql.js";

export type FeedbackField = Extract<CallField, { kind: "feedback" }>;

/** What a statement over calls reads of the feedback of one type. */
interface FeedbackOfType {
  type: string;
  /** SQL of the parts that fields ask for, over the columns of feedback; each is an element of a tuple. */
  parts: Map<string, string>;
  /** Whether the oldest piece of each call is asked for, and whether all are. */
  first: boolean;
  all: boolean;
}

/**
 * The feedback that fields of one statement over calls look at. Each type is joined once, by the id of the call. A part
 * of a payload is carried as JSON text, so that a call without feedback, whose parts are empty, reads like one whose
 * feedback lacks the path.
 */
export class CallFeedback {
  readonly #sql: StatementSql;
  readonly #types = new Map<string, FeedbackOfType>();

  constructor(sql: StatementSql) {
    this.#sql = sql;
  }

  /** The part of the oldest piece that the field is about. */
  first(field: FeedbackField): string {
    const { name, index, feedback } = this.#part(field);
    feedback.first = true;
    return `tupleElement(${name}_first, ${index})`;
  }

  /** The part of one piece among {@link pieces}. */
  one(field: FeedbackField): string {
    const { name, index } = this.#part(field);
    return `tupleElement(${name}_one, ${index})`;
  }

  /** All pieces of a call, at least one, and what one of them is called; undefined for types of which the oldest counts. */
  pieces(field: FeedbackField): { list: string; one: string } | undefined {
    if (!isManyPerCall(field.feedback_type)) return undefined;
    const { name, feedback } = this.#part(field);
    feedback.all = true;
    return { list: `arrayResize(${name}_all, greatest(length(${name}_all), 1))`, one: `${name}_one` };
  }

  /** To be asked for once everything else is compiled. */
  joins(projectId: string): Array<(ids: string | undefined) => string> {
    return [...this.#types.values()].map((feedback, index) => this.#join(`f${index}`, feedback, projectId));
  }

  #join(name: string, { type, parts, first, all }: FeedbackOfType, projectId: string): (ids?: string) => string {
    const { p } = this.#sql;
    const conditions = [
      `project_id = ${p.bind("String", projectId)}`,
      "call_id != ''",
      ...(type === "*" ? [] : [`type = ${p.bind("String", type)}`]),
    ];
    const tuple = `tuple(${[...parts.values()].join(", ")}) AS parts`;
    const columns = [
      `call_id AS ${name}_call`,
      ...(first ? [`argMin(parts, (created_at, id)) AS ${name}_first`] : []),
      ...(all ? [`groupArray(parts) AS ${name}_all`] : []),
    ].join(", ");
    return (ids) => {
      const where = [...conditions, ...(ids === undefined ? [] : [`call_id IN (${ids})`])].join(" AND ");
      const pieces = `SELECT call_id, created_at, id, ${tuple} FROM ${newestRows("feedback")} WHERE ${where}`;
      return `LEFT JOIN (SELECT ${columns} FROM (${pieces}) GROUP BY call_id) AS ${name} ON ${name}_call = id`;
    };
  }

  #part({ feedback_type: type, part, path }: FeedbackField): { name: string; index: number; feedback: FeedbackOfType } {
    let feedback = this.#types.get(type);
    if (feedback === undefined) {
      feedback = { type, parts: new Map(), first: false, all: false };
      this.#types.set(type, feedback);
    }
    const key = JSON.stringify([part, path]);
    if (!feedback.parts.has(key)) {
      feedback.parts.set(key, part === "payload" ? leafJson(this.#sql, "payload", path) : part);
    }
    const index = [...feedback.parts.keys()].indexOf(key) + 1;
    return { name: `f${[...this.#types.keys()].indexOf(type)}`, index, feedback };
  }
}
