import { assignment, quoted } from "../engine/reading-session.js";
import type { SessionNeeds } from "../engine/worker-protocol.js";
import type { Execution } from "./execution.js";

/**
 * The statements that give a session what the request asks for.
 * Everything goes in as quoted text: the engine reads settings of any type from it, and parameter values,
 * which come in TabSeparated escaping, are unescaped when the query uses them, as on a server.
 */
export function sessionNeeds({ request, statement }: Execution, marker: string): SessionNeeds {
  const statements: string[] = [];
  if (request.database !== undefined) statements.push(`USE ${quoted(request.database, "`")}`);
  const comment = request.settings.get("log_comment") ?? "";
  const settings = [`log_comment = ${quoted(comment + marker, "'")}`];
  for (const [name, value] of request.settings) {
    if (name !== "log_comment" && name !== "readonly") settings.push(assignment(name, value));
  }
  const readonly = request.settings.get("readonly");
  // Forbids SET, parameters included: such a session gets them with its settings, and serves one statement.
  const last = readonly === undefined ? [] : [assignment("readonly", readonly)];
  const parameters = [...request.parameters].map(([name, value]) => assignment(`param_${name}`, value));
  const once = readonly !== undefined;
  statements.push(`SET ${[...settings, ...(once ? parameters : []), ...last].join(", ")}`);
  return {
    setup: statements.join("; "),
    parameterNames: JSON.stringify([...request.parameters.keys()].toSorted()),
    parameters: once || parameters.length === 0 ? "" : `SET ${parameters.join(", ")}`,
    reusable: !once && statement.kind !== "other",
  };
}
