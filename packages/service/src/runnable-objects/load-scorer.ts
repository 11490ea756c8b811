import { HeddleError } from "@heddle/errors";
import { memberOf } from "@heddle/exact-json";
import type { StoredObject } from "@heddle/trace-store";
import { Computing } from "../computing/computing.js";
import { withPrefix } from "../error-prefix.js";
import type { ModelBackends } from "./model-backends.js";
import { openJudge } from "./open-judge.js";
import { openRanking } from "./open-ranking.js";
import type { ScorerClass } from "../scorers/scorer-class.js";
import { scorerClasses, scorerClassOf } from "../scorers/scorer-classes.js";
import type { Ranking, Scorer } from "../scorers/scorer.js";

/**
 * Makes a scorer of an object. Throws `invalid` for an object whose code only an SDK can run, for a ranking, and for
 * parameters that do not fit its class; the message says what works.
 */
export async function loadScorer(
  services: ModelBackends,
  object: StoredObject,
  computing?: Computing,
): Promise<Scorer> {
  const scorer = await loadCallScorer(services, object, computing);
  if (!isRanking(scorer)) return scorer;
  const message = `${object.object_id} ranks the calls of a group, to which only /calls/score applies it`;
  throw new HeddleError("invalid", message);
}

/** Makes a scorer or a ranking of an object. Throws as `loadScorer` does. */
export async function loadCallScorer(
  services: ModelBackends,
  object: StoredObject,
  computing: Computing = Computing.ofRequest(),
): Promise<Scorer | Ranking> {
  const { project_id: projectId, object_id, val } = object;
  const { name: className, open, ranksGroups } = builtInClass(object);
  return withPrefix(object_id, async () => {
    const { name = object_id, settings } = await computing.run("checkedScorer", { className, val });
    if (ranksGroups === true) {
      const { groupBy, rank } = await openRanking(settings, { services, projectId, computing });
      return { name, groupBy, rank: async (...group) => withPrefix(name, async () => rank(...group)) };
    }
    const score: Scorer["score"] =
      open === undefined
        ? await openJudge(settings, { services, projectId, computing })
        : async (scored, signal) => computing.run("computeScore", { className, settings, scored }, { signal });
    return { name, score: async (scored, signal) => withPrefix(name, async () => score(scored, signal)) };
  });
}

/** Makes a ranking of an object. Throws `invalid` for another scorer. */
export async function loadRanking(
  services: ModelBackends,
  object: StoredObject,
  computing?: Computing,
): Promise<Ranking> {
  const scorer = await loadCallScorer(services, object, computing);
  if (isRanking(scorer)) return scorer;
  throw new HeddleError(
    "invalid",
    `${object.object_id} scores one answer at a time: a ranking compares those of a group`,
  );
}

export function isRanking(scorer: Scorer | Ranking): scorer is Ranking {
  return "rank" in scorer;
}

function builtInClass({ object_id, kind, leaf_object_class, val }: StoredObject): ScorerClass {
  const scorerClass = kind === "op" ? undefined : scorerClassOf(leaf_object_class);
  const hasCode = (memberOf(val, "score") ?? "null") !== "null";
  if (scorerClass !== undefined && (scorerClass.isSdkClass === true || !hasCode)) return scorerClass;
  const what = kind === "op" ? "an op" : hasCode ? "a scorer with code of its own" : describe(leaf_object_class);
  const names = scorerClasses.map(({ name }) => name).join(", ");
  throw new HeddleError(
    "invalid",
    `${object_id} is ${what}, which only an SDK can run. The service runs scorers of these classes: ${names}`,
  );
}

function describe(className: string | null): string {
  return className === null ? "an object without a class" : `an object of class ${className}`;
}
