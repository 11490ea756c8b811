import { createHash } from "node:crypto";
import { memberOf, stringMember } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { modelFor } from "./open-judge.js";
import type { JudgeContext } from "./open-judge.js";
import type { Ranking } from "../scorers/scorer.js";

/** Makes a ranking of class `GroupRankingScorer`, from the settings that `checkedScorer` returned. */
export async function openRanking(settings: JsonText, context: JudgeContext): Promise<Omit<Ranking, "name">> {
  const parameters = memberOf(settings, "parameters") ?? "{}";
  const [rubric = "", groupBy = ""] = ["rubric", "group_by"].map((name) => stringMember(parameters, name));
  const model = await modelFor(parameters, context);
  return {
    groupBy,
    async rank(group, seed, signal) {
      const labels = group.map((_, at) => labelOf(seed, at));
      const members = group.map(({ inputs, output }, at) => ({ label: labels[at] ?? "", inputs, output }));
      // In the order of their labels, which is none that calls could rely on: models prefer what comes first.
      const sorted = members.toSorted((one, other) => (one.label < other.label ? -1 : 1));
      const { output: judgement } = await model.rank({ members: sorted, rubric }, signal);
      return await context.computing.run("readRanking", { judgement, labels }, { signal });
    },
  };
}

/** An answer cannot claim a score for one whose label it cannot know. */
function labelOf(seed: string, at: number): string {
  return createHash("sha256")
    .update(JSON.stringify([seed, at]))
    .digest("hex")
    .slice(0, 12);
}
