import type { JsonText } from "@heddle/exact-json";
import { forEachScore } from "./score-values.js";

/** One value of the scores of a run, over its trials. */
export interface ScoreStats {
  scorer_key: string;
  /** Where the value is in the score; empty for the score itself. */
  path: readonly string[];
  /** What the value mostly is; null for lists. */
  value_type: "binary" | "continuous" | "text" | null;
  /** Of values that are numbers, and where there is one of booleans as 1 and 0. */
  numeric_count: number;
  numeric_mean: number | null;
  pass_true_count: number;
  pass_known_count: number;
  pass_rate: number | null;
}

interface Sums {
  path: readonly string[];
  numbers: number;
  sum: number;
  trues: number;
  booleans: number;
  texts: number;
}

/** Scores may have any keys; more values than these are not summed up. */
const maxValues = 10_000;

/** Sums up the scores of trials by scorer and path. */
export class ScoreSums {
  readonly #sums = new Map<string, Sums>();
  /** Whether there were more values than are summed up. */
  isCut = false;

  /** Adds the scores of `count` trials that have equal ones: an object by the names of scorers. */
  add(scores: JsonText, count: number): void {
    forEachScore(scores, (path, value) => {
      const sums = this.#at(path);
      if (sums === undefined) return;
      if (typeof value === "boolean") {
        sums.booleans += count;
        if (value) sums.trues += count;
      } else if (typeof value === "number") {
        sums.numbers += count;
        sums.sum += value * count;
      } else if (value === "text") sums.texts += count;
    });
  }

  /** By scorer and path, in the order of their code units. */
  stats(): ScoreStats[] {
    const all = Array.from(this.#sums.values(), statsOf);
    const key = ({ scorer_key, path }: ScoreStats) => [scorer_key, ...path].join("\u0000");
    return all.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  }

  #at(path: readonly string[]): Sums | undefined {
    const key = JSON.stringify(path);
    let sums = this.#sums.get(key);
    if (sums === undefined) {
      if (this.#sums.size === maxValues) {
        this.isCut = true;
        return undefined;
      }
      sums = { path, numbers: 0, sum: 0, trues: 0, booleans: 0, texts: 0 };
      this.#sums.set(key, sums);
    }
    return sums;
  }
}

function statsOf({ path: [scorer = "", ...path], ...sums }: Sums): ScoreStats {
  const { numbers, booleans, texts } = sums;
  // A scorer may report 0.5 for one row and true for another: their mean is that of both.
  const values = numbers === 0 ? 0 : numbers + booleans;
  const most = Math.max(numbers, booleans, texts);
  const type = most === booleans ? "binary" : most === numbers ? "continuous" : "text";
  return {
    scorer_key: scorer,
    path,
    value_type: most === 0 ? null : type,
    numeric_count: values,
    numeric_mean: values === 0 ? null : (sums.sum + sums.trues) / values,
    pass_true_count: sums.trues,
    pass_known_count: booleans,
    pass_rate: booleans === 0 ? null : sums.trues / booleans,
  };
}
