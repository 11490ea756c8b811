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
    .map((piece) => numberOf(leafAt(piece, steps), feedback_type))
    .filter((value) => value !== undefined);
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}

const reactionType = "wandb.reaction.1";
const thumbs: Readonly<Record<string, number>> = { "\u{1F44D}": 1, "\u{1F44E}": 0 };

/** A number, a boolean as 1 or 0, or in a reaction a thumb that points up or down, of any skin tone. */
function numberOf(text: JsonText | undefined, feedbackType: string): number | undefined {
  if (text === undefined) return undefined;
  if (text.startsWith('"')) {
    if (feedbackType !== reactionType) return undefined;
    return thumbs[(JSON.parse(text) as string).replaceAll(/[\u{1F3FB}-\u{1F3FF}]/gu, "")];
  }
  if (text === "true" || text === "false") return text === "true" ? 1 : 0;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}
