import { memberOf, stringMember } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/**
 * What a client is known to have in the usage of a call besides the tokens of the call itself. `children`: the usage of the
 * children that the same client made, added up. `descendants`: nothing else, it is that of calls below, or of some of them.
 */
export type UsageIncludes = "children" | "descendants";

/** What the usage of a call with these attributes is known to include. */
export function usageIncludes(attributes: JsonText): UsageIncludes | undefined {
  // Attributes may be long, and most have no mark: one search finds that out.
  if (!marks.test(attributes)) return undefined;
  if (isWeave(memberOf(attributes, "weave"))) return "children";
  if (attributes.includes('"aggregated_usage"')) return "descendants";
  return isWrapper(stringMember(attributes, "operation")) ? "descendants" : undefined;
}

/** Whether this is an operation of the Vercel AI SDK around those that ask a model, which end with `.doGenerate` and the like. */
export function isWrapper(operation: string | undefined): boolean {
  return operation !== undefined && /^ai\.[A-Za-z]+$/.test(operation);
}

const marks = /"(?:weave|aggregated_usage)"|"operation"\s*:\s*"ai\./;

/** The SDKs for Python and TypeScript name themselves. Python's can be told not to give its version. */
function isWeave(weave: JsonText | undefined): boolean {
  if (weave === undefined) return false;
  return memberOf(weave, "client_version")?.[0] === '"' || stringMember(weave, "source")?.endsWith("-sdk") === true;
}
