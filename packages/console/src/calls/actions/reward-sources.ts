import type { RewardSource } from "@heddle/client/training";

interface GivenFeedback {
  feedback_type: string;
  payload: unknown;
}

/** Steps of a path at most, and numbers of a payload. */
const [deepest, mostOfOne] = [4, 50];

/** What of feedback can be a reward: its numbers, and what is true or false, by type and path. What occurs most comes first. */
export function rewardSources(feedback: readonly GivenFeedback[]): RewardSource[] {
  const counts = new Map<string, { source: RewardSource; count: number }>();
  for (const { feedback_type, payload } of feedback) {
    for (const path of numbersIn(payload).slice(0, mostOfOne)) {
      const key = JSON.stringify([feedback_type, path]);
      const known = counts.get(key) ?? { source: { feedback_type, path }, count: 0 };
      known.count++;
      counts.set(key, known);
    }
  }
  return [...counts.values()].toSorted((a, b) => b.count - a.count).map(({ source }) => source);
}

function numbersIn(value: unknown, steps: readonly string[] = []): string[] {
  if (typeof value === "number" || typeof value === "boolean") return steps.length === 0 ? [] : [steps.join(".")];
  if (typeof value !== "object" || value === null || steps.length === deepest) return [];
  // A path has no way to write a step with a dot.
  return Object.entries(value).flatMap(([name, each]) => (name.includes(".") ? [] : numbersIn(each, [...steps, name])));
}
