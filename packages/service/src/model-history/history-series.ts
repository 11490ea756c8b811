import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";
import type { ResponseSchemas } from "@heddle/server-stub/training";

type WireSeries = ResponseSchemas["HistorySeries"];

export interface SeriesOptions {
  /** Undefined: all names. */
  keys: readonly string[] | undefined;
  /** The most values of one series. */
  points: number;
  /** Position of the first row, and the number of positions from there on. */
  start: number;
  span: number;
}

interface Point {
  row: number;
  step: number | null;
  time: number | null;
  value: number;
}

/** Names of one response, where the request names none. */
const mostKeys = 1000;

/**
 * Gathers the numbers of rows by name. Of a history that is longer than a series may be, each of as many equal parts keeps
 * its least and its greatest value.
 */
export class HistorySeries {
  readonly #series = new Map<string, Series>();
  readonly #isWanted: (key: string) => boolean;
  readonly #rowsPerPart: number;
  readonly #start: number;

  constructor({ keys, points, start, span }: SeriesOptions) {
    const wanted = keys && new Set(keys);
    this.#isWanted = wanted === undefined ? (key) => !key.startsWith("_") : (key) => wanted.has(key);
    this.#rowsPerPart = span <= points ? 1 : Math.ceil(span / Math.floor(points / 2));
    this.#start = start;
  }

  /** Adds the numbers of a row. Text that is not an object adds nothing. Throws `too_large` for too many names. */
  add(row: number, text: string): void {
    const values = objectOf(text);
    const [step = null, time = null] = [values["_step"], values["_timestamp"]].map((each) => numberOf(each));
    const part = Math.floor((row - this.#start) / this.#rowsPerPart);
    for (const [key, given] of Object.entries(values)) {
      const value = numberOf(given);
      if (value === undefined || !this.#isWanted(key)) continue;
      this.#of(key).add(part, { row, step: step ?? null, time: time ?? null, value });
    }
  }

  /** Values that the series have so far. */
  get size(): number {
    let size = 0;
    for (const series of this.#series.values()) size += series.size;
    return size;
  }

  /** The series in the order of their names. */
  finish(): WireSeries[] {
    const sorted = [...this.#series].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([key, series]) => series.finish(key));
  }

  #of(key: string): Series {
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    if (this.#series.size >= mostKeys) {
      throw new HeddleError("too_large", `the history has more than ${mostKeys} names: name those that are wanted`, {
        loc: ["keys"],
      });
    }
    const added = new Series();
    this.#series.set(key, added);
    return added;
  }
}

/** The values of one name. */
class Series {
  readonly #points: Point[] = [];
  #part = -1;
  #least: Point | undefined;
  #greatest: Point | undefined;
  #count = 0;

  get size(): number {
    return this.#points.length;
  }

  add(part: number, point: Point): void {
    if (part !== this.#part) this.#endPart();
    this.#part = part;
    this.#count += 1;
    if (this.#least === undefined || point.value < this.#least.value) this.#least = point;
    if (this.#greatest === undefined || point.value > this.#greatest.value) this.#greatest = point;
  }

  finish(key: string): WireSeries {
    this.#endPart();
    const points = this.#points;
    return {
      key,
      count: this.#count,
      sampled: points.length < this.#count,
      rows: points.map(({ row }) => row),
      steps: points.map(({ step }) => step),
      times: points.map(({ time }) => time),
      values: points.map(({ value }) => value),
    };
  }

  #endPart(): void {
    const kept = [this.#least, this.#greatest].filter((point) => point !== undefined);
    this.#points.push(...[...new Set(kept)].toSorted((a, b) => a.row - b.row));
    [this.#least, this.#greatest] = [undefined, undefined];
  }
}

function objectOf(text: string): Record<string, unknown> {
  const value = parsed(text) ?? parsed(text.replaceAll(bareWords, (_, quoted?: string) => quoted ?? "null"));
  return isJsonObject(value) ? value : {};
}

/** What some clients write for numbers that are none, as Python does; texts are found to be left as they are. */
const bareWords = /("(?:[^"\\]|\\.)*")|-?\b(?:NaN|Infinity)\b/g;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;
