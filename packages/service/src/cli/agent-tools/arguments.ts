import { closestName } from "../../closest-name.js";
import type { AgentTool } from "../../generated/agent-tools.js";

/** What is wrong with arguments before they are sent, in words for whoever chose them; the service judges the rest. */
export function wrongArgument({ name, inputSchema }: AgentTool, given: Readonly<Record<string, unknown>>) {
  const known = Object.keys(inputSchema.properties);
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    const meant = closestName(unknown, known);
    const hint = meant === undefined ? "" : ` Did you mean ${JSON.stringify(meant)}?`;
    return `${name} has no argument ${JSON.stringify(unknown)}.${hint} It has: ${known.join(", ") || "none"}.`;
  }
  const missing = inputSchema.required.find((key) => given[key] === undefined || given[key] === null);
  if (missing !== undefined) return `${name} needs the argument ${JSON.stringify(missing)}.`;
  const rounded = roundedAt(given, "");
  return rounded && `${rounded} is an integer beyond 2^53, which is rounded on its way. Compare it as text instead.`;
}

/** Where an integer is that JSON of the protocol has rounded, or may have. */
function roundedAt(value: unknown, path: string): string | undefined {
  if (typeof value === "number")
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? path || "it" : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    const found = roundedAt(member, path === "" ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
