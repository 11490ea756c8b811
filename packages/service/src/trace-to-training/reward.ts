import { stringMember } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { leafAt, splitPath } from "@heddle/trace-model";
import type { Schemas } from "@heddle/server-stub/training";

/** Returns the mean of the numbers that feedback of the type has at the path; undefined if there is none. */
export function rewardOf(
  feedback: readonly JsonText[],
  { feedback_type, path }: Schemas["RewardSource"],
): number | undefined {
  const steps = ["payload", ...splitPath(path)];
  const values = feedback
    .filter((piece) => stringMember(piece, "feedback_type") === feedback_type)
    .map((piece) => numberOf(leafAt(piece, steps)))
    .filter((value) => value !== undefined);
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** A number, or a boolean as 1 or 0. */
function numberOf(text: JsonText | undefined): number | undefined {
  if (text === undefined || text.startsWith('"')) return undefined;
  if (text === "true" || text === "false") return text === "true" ? 1 : 0;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}
