import type { QueryRequest } from "./query-request.js";

/**
 * The statements that give a new session what the request asks for.
 * Everything goes in as quoted text: the engine reads settings of any type from it, and parameter values,
 * which come in TabSeparated escaping, are unescaped when the query uses them, as on a server.
 */
export function sessionSetup(request: QueryRequest, marker: string): string {
  const statements: string[] = [];
  if (request.database !== undefined) statements.push(`USE ${quoted(request.database, "`")}`);
  const comment = request.settings.get("log_comment") ?? "";
  const assignments = [`log_comment = ${quoted(comment + marker, "'")}`];
  for (const [name, value] of request.parameters) {
    assignments.push(`${quoted(`param_${name}`, "`")} = ${quoted(value, "'")}`);
  }
  for (const [name, value] of request.settings) {
    if (name !== "log_comment" && name !== "readonly") {
      assignments.push(`${quoted(name, "`")} = ${quoted(value, "'")}`);
    }
  }
  const readonly = request.settings.get("readonly");
  if (readonly !== undefined) assignments.push(`readonly = ${quoted(readonly, "'")}`);
  statements.push(`SET ${assignments.join(", ")}`);
  return statements.join("; ");
}

function quoted(text: string, quote: "'" | "`"): string {
  return quote + text.replaceAll("\\", "\\\\").replaceAll(quote, `\\${quote}`) + quote;
}
