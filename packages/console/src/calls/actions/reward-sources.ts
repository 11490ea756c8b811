import type { RewardSource } from "@heddle/client/training";

interface GivenFeedback {
  feedback_type: string;
  payload: unknown;
}

/** Steps of a path at most, and numbers of a payload. */
const [deepest, mostOfOne] = [4, 50];

/** What of feedback can be a reward: its numbers, thumbs, and what is true or false, by type and path. What occurs most comes first. */
export function rewardSources(feedback: readonly GivenFeedback[]): RewardSource[] {
  const counts = new Map<string, { source: RewardSource; count: number }>();
  for (const { feedback_type, payload } of feedback) {
    const paths = isThumb(feedback_type, payload) ? ["emoji"] : numbersIn(payload).slice(0, mostOfOne);
    for (const path of paths) {
      const key = JSON.stringify([feedback_type, path]);
      const known = counts.get(key) ?? { source: { feedback_type, path }, count: 0 };
      known.count++;
      counts.set(key, known);
    }
  }
  return [...counts.values()].toSorted((a, b) => b.count - a.count).map(({ source }) => source);
}

/** The service reads thumbs up and down as 1 and 0. */
const isThumb = (type: string, payload: unknown): boolean =>
  type === "wandb.reaction.1" && /^[👍👎]/u.test(String((payload as { emoji?: unknown } | null)?.emoji));

function numbersIn(value: unknown, steps: readonly string[] = []): string[] {
  if (typeof value === "number" || typeof value === "boolean") return steps.length === 0 ? [] : [steps.join(".")];
  if (typeof value !== "object" || value === null || steps.length === deepest) return [];
  // A path has no way to write a step with a dot.
  return Object.entries(value).flatMap(([name, each]) => (name.includes(".") ? [] : numbersIn(each, [...steps, name])));
}
