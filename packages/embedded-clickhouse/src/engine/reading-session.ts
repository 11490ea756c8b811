import type { SessionNeeds } from "./worker-protocol.js";

/** A session for statements that change nothing, not even of the session, with a value for every setting as text. */
export function readingSession(
  database: string,
  settings: Readonly<Record<string, string>>,
  marker: string,
): SessionNeeds {
  const set = [["log_comment", marker], ...Object.entries(settings), ["readonly", "2"]] as const;
  const values = set.map(([name, value]) => assignment(name, value)).join(", ");
  return {
    setup: `USE ${quoted(database, "`")}; SET ${values}`,
    parameterNames: "",
    parameters: "",
    reusable: true,
  };
}

/** Of a setting or a parameter; the engine reads settings of any type from text. */
export function assignment(name: string, value: string): string {
  return `${quoted(name, "`")} = ${quoted(value, "'")}`;
}

/** A character of code 0 would end the text of a synchronous statement. */
export function quoted(text: string, quote: "'" | "`"): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll(quote, `\\${quote}`).replaceAll("\0", "\\0");
  return quote + escaped + quote;
}
