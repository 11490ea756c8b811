import type { JsonText } from "@heddle/exact-json";
import { HeddleError } from "@heddle/errors";
import { forEachScore } from "./score-values.js";
import type { ScoreValue } from "./score-values.js";

/** One value of the scores in one run, by the index of the row. */
export interface RunColumn {
  /** The mean of the trials of the row; NaN where none has a number. */
  means: number[];
  /** Whether the trials disagree, and where all are booleans whether more than half are true. */
  verdicts: Verdict[];
  hasBooleans: boolean;
  hasNumbers: boolean;
  hasTexts: boolean;
}

/** What the booleans of a row say; "none" where its trials have no booleans, or numbers besides. */
interface Verdict {
  passes: boolean | undefined;
  isUnstable: boolean;
}

/** One value of the scores in all runs. */
export interface ScoreColumn {
  path: readonly string[];
  /** In the order of the runs. */
  runs: RunColumn[];
}

/** A value of the scores of a trial, with the key of its column. */
interface Scored {
  key: string;
  path: readonly string[];
  value: ScoreValue;
}

/** What the trials of one row have at a place of the scores. */
interface Pending {
  count: number;
  sum: number;
  trues: number;
  booleans: number;
}

export const maxColumns = 50;
const maxValues = 4_000_000;
/** Scores of which the values are remembered: judges say few different things. Longer ones have a reason that no other has. */
const [mostRemembered, longestRemembered] = [1000, 400];
/** A larger number is none that can be compared: its square is none. */
const maxMagnitude = 1e100;

const noVerdict: Verdict = { passes: undefined, isUnstable: false };
/** Few objects: there may be millions of rows that have them. */
const verdictsBy = {
  stable: { true: { passes: true, isUnstable: false }, false: { passes: false, isUnstable: false }, none: noVerdict },
  unstable: {
    true: { passes: true, isUnstable: true },
    false: { passes: false, isUnstable: true },
    none: { passes: undefined, isUnstable: true },
  },
};

/** The scores of runs as columns over rows. Trials come row by row. */
export class ScoreColumns {
  readonly digests: string[] = [];
  /** How many trials each run has for each row. */
  readonly trials: number[][];
  /** Whether there are more values than are compared. */
  isCut = false;
  readonly #runs: number;
  readonly #wanted: string | undefined;
  readonly #columns = new Map<string, ScoreColumn>();
  readonly #remembered = new Map<JsonText, readonly Scored[]>();
  #pending = new Map<ScoreColumn, Array<Pending | undefined>>();

  /** `wanted`: a value that is compared even if there are many. */
  constructor(runs: number, wanted: readonly string[] | undefined) {
    this.#runs = runs;
    this.trials = Array.from({ length: runs }, () => []);
    this.#wanted = wanted === undefined ? undefined : JSON.stringify(wanted);
  }

  /** Adds trials of a run that have equal scores. */
  add(digest: string, run: number, scores: JsonText, count: number): void {
    if (this.digests.at(-1) !== digest) this.#beginRow(digest);
    const row = this.digests.length - 1;
    const trials = this.trials[run];
    if (trials !== undefined) trials[row] = (trials[row] ?? 0) + count;
    for (const { key, path, value } of this.#valuesOf(scores)) {
      const column = this.#columnAt(key, path);
      const ofRun = column?.runs[run];
      if (column === undefined || ofRun === undefined) continue;
      if (value === "text") ofRun.hasTexts = true;
      if (typeof value === "string" || Math.abs(Number(value)) > maxMagnitude) continue;
      this.#addTo(column, run, Number(value), typeof value === "boolean", count);
      if (typeof value === "boolean") ofRun.hasBooleans = true;
      else ofRun.hasNumbers = true;
    }
  }

  /** By scorer and path, in the order of their code units; to be called when all trials were added. */
  finish(): ScoreColumn[] {
    this.#endRow();
    const columns = [...this.#columns.values()];
    for (const { runs } of columns) for (const run of runs) fillTo(run, this.digests.length);
    const key = ({ path }: ScoreColumn) => path.join("\u0000");
    return columns.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  }

  #valuesOf(scores: JsonText): readonly Scored[] {
    const remembered = this.#remembered.get(scores);
    if (remembered !== undefined) return remembered;
    const found: Scored[] = [];
    forEachScore(scores, (path, value) => found.push({ key: JSON.stringify(path), path, value }));
    if (scores.length <= longestRemembered && this.#remembered.size < mostRemembered)
      this.#remembered.set(scores, found);
    return found;
  }

  #beginRow(digest: string): void {
    this.#endRow();
    this.digests.push(digest);
    for (const trials of this.trials) trials.push(0);
    if (this.digests.length * this.#runs * this.#columns.size > maxValues)
      throw new HeddleError("too_large", `more than ${maxValues} values of scores; compare fewer runs`, {
        loc: ["others"],
      });
  }

  #endRow(): void {
    const row = this.digests.length - 1;
    for (const [{ runs }, pending] of this.#pending) {
      for (const [index, found] of pending.entries()) {
        const run = runs[index];
        if (found === undefined || run === undefined) continue;
        fillTo(run, row);
        run.means.push(found.sum / found.count);
        run.verdicts.push(verdictOf(found));
      }
    }
    this.#pending.clear();
  }

  #addTo(column: ScoreColumn, run: number, value: number, isBoolean: boolean, count: number): void {
    let pending = this.#pending.get(column);
    if (pending === undefined) this.#pending.set(column, (pending = []));
    const sums = (pending[run] ??= { count: 0, sum: 0, trues: 0, booleans: 0 });
    sums.count += count;
    sums.sum += value * count;
    if (!isBoolean) return;
    sums.booleans += count;
    sums.trues += value * count;
  }

  #columnAt(key: string, path: readonly string[]): ScoreColumn | undefined {
    const known = this.#columns.get(key);
    if (known !== undefined) return known;
    if (this.#columns.size >= maxColumns && key !== this.#wanted) {
      this.isCut = true;
      return undefined;
    }
    const runs = Array.from({ length: this.#runs }, emptyColumn);
    const column = { path, runs };
    this.#columns.set(key, column);
    return column;
  }
}

export const emptyColumn = (): RunColumn => ({
  means: [],
  verdicts: [],
  hasBooleans: false,
  hasNumbers: false,
  hasTexts: false,
});

/** Rows before that have no number. */
export function fillTo({ means, verdicts: said }: RunColumn, rows: number): void {
  while (means.length < rows) {
    means.push(Number.NaN);
    said.push(noVerdict);
  }
}

function verdictOf({ count, trues, booleans }: Pending): Verdict {
  const of = trues > 0 && trues < booleans ? verdictsBy.unstable : verdictsBy.stable;
  return of[booleans < count ? "none" : trues * 2 > booleans ? "true" : "false"];
}
