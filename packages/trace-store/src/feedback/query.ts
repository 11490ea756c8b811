import { HeddleError } from "@heddle/errors";
import { readable } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { formatTime, leafAt } from "@heddle/trace-model";
import type { ReadOptions } from "../context.js";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { compileRows, planRows } from "../query/row-query.js";
import type { RowField } from "../query/row-query.js";
import { StatementSql } from "../query/statement-sql.js";
import { newestRows } from "../schema/read-table.js";
import { feedbackColumns, storedName } from "./columns.js";
import type { FeedbackColumn } from "./columns.js";
import type { FeedbackPage, FeedbackQuery } from "./requests.js";
import { indexedReads } from "./rows.js";

/** A response is one document that is held in memory. */
const maxBytes = 128 * 1024 * 1024;
/** Memory is reserved in steps of so many characters. */
const reservedAtOnce = 1024 * 1024;

/** What is shown of a row: a column, or what a path in it leads to, under the name that was asked for. */
export type ShownField = Pick<RowField, "text" | "path"> & { name: FeedbackColumn };

/** A row of what {@link selectOf} selects. */
export type ShownRow = Readonly<Record<string, string>>;

const allFields = columnFields(Object.keys(feedbackColumns) as FeedbackColumn[]);

/** Whole columns as fields. */
export function columnFields(names: readonly FeedbackColumn[]): ShownField[] {
  return names.map((name) => ({ text: name, name, path: [] }));
}

/** Lists feedback in a total order. Throws `unprocessable` for unknown fields, `invalid` for what is not a query or page. */
export async function queryFeedback(
  engine: Engine,
  request: FeedbackQuery,
  { signal, reserve }: ReadOptions = {},
): Promise<FeedbackPage> {
  const plan = planRows(request, feedbackColumns, "feedback");
  const fields = (plan.fields as ShownField[] | undefined) ?? allFields;
  const { limit, offset = 0 } = request;
  const p = new Parameters();
  const { where, orderBy, page } = compileRows(new StatementSql(p), plan, ["created_at ASC", "id ASC"]);
  const from = `FROM ${newestRows("feedback")} WHERE ${[`project_id = ${p.bind("String", request.project_id)}`, ...where].join(" AND ")}`;
  const options = { signal, settings: indexedReads };
  const result: JsonText[] = [];
  let bytes = 0;
  let reserved = 0;
  const rows = engine.stream<ShownRow>(
    { sql: `SELECT ${selectOf(fields)} ${from} ORDER BY ${orderBy} ${page}`, params: p },
    options,
  );
  if (limit !== 0) {
    for await (const row of rows) {
      const text = showRow(fields, row);
      bytes += text.length;
      if (bytes > maxBytes) {
        throw new HeddleError("too_large", "Response too large: ask for fewer", { loc: ["limit"] });
      }
      if (bytes - reserved >= reservedAtOnce) {
        await reserve?.(bytes - reserved);
        reserved = bytes;
      }
      result.push(text);
    }
  }
  const isLast = (limit === undefined || result.length < limit) && (result.length > 0 || offset === 0);
  if (isLast) return { result, total_count: offset + result.length };
  const [counted] = await engine.rows<{ n: string }>({ sql: `SELECT count() AS n ${from}`, params: p }, options);
  return { result, total_count: Number(counted?.n ?? 0) };
}

/** The columns that the fields need. */
export function selectOf(fields: readonly ShownField[]): string {
  const columns = fields.flatMap(({ name }) => {
    if (name === "created_at") return ["toUnixTimestamp64Micro(created_at) AS created_us"];
    return name === "payload" ? ["payload", "exact"] : [storedName(name)];
  });
  return [...new Set(["id", ...columns])].join(", ");
}

/** The row as a JSON object. */
export function showRow(fields: readonly ShownField[], row: ShownRow): JsonText {
  const members = fields.map((field) => `${JSON.stringify(field.text)}:${showField(field, row)}`);
  return `{${members.join(",")}}`;
}

/** What columns of JSON show that were never given. */
const emptyJson = (name: FeedbackColumn): JsonText => (name === "scorer_tags" ? "[]" : "{}");

function showField({ name, path }: ShownField, row: ShownRow): JsonText {
  if (name === "created_at") return JSON.stringify(formatTime(BigInt(row["created_us"] ?? 0)));
  const text = row[storedName(name)] ?? "";
  const facts: { type: string; optional?: boolean } = feedbackColumns[name];
  if (facts.type !== "json") return facts.optional === true && text === "" ? "null" : JSON.stringify(text);
  const document = (name === "payload" ? readable(text, row["exact"]) : text) || emptyJson(name);
  return path.length === 0 ? document : (leafAt(document, path) ?? "null");
}
