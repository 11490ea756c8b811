import type { Buckets } from "../stats/buckets.js";
import type { Distribution } from "./distributions.js";
import type { Metric } from "./metrics.js";

/** Numbers by the names of metrics; null where no call has a value. */
type Values = Record<string, number | null>;

export interface Figures {
  values: Values;
  /** A number for each bucket, by the names of metrics. */
  series?: Record<string, Array<number | null>>;
}

export interface CallAggregates {
  total: Figures;
  /** By number of calls. */
  groups: Array<Figures & { key: Array<string | null> }>;
  /** All calls that are in no group. */
  other?: Figures;
  /** Starts of the buckets, and their width in seconds. */
  time?: { starts: bigint[]; seconds: number };
  distributions?: Distribution[];
  /** Whether all matching calls are counted; else only those that started `since`. */
  exact: boolean;
  since?: bigint;
}

/** A row of figures of a group, or of all, in a bucket, or in all. */
export interface FigureRow extends Record<`m${number}`, string | number | null> {
  calls: string;
  /** Place of the group, from 1; 0 for all others. */
  g?: number;
  bucket?: string;
  /** 1 in a row about all groups, or all buckets. */
  all_groups?: number;
  all_buckets?: number;
  key?: Array<string | null>;
  /** One of its calls. */
  example?: [us: string, id: string];
}

/** A group, 0 for those that are in none of their own; undefined for all calls. */
type Group = number | undefined;

export const cellOf = (group: Group, bucket: bigint | string | undefined): string => `${group ?? ""}:${bucket ?? ""}`;

/** The figures of one answer. */
export class FigureTable {
  readonly #rows = new Map<string, FigureRow>();

  constructor(
    rows: readonly FigureRow[],
    readonly costs: ReadonlyMap<string, number>,
    readonly metrics: readonly Metric[],
    readonly buckets: Buckets | undefined,
  ) {
    for (const row of rows) {
      const { g, bucket, all_groups = 1, all_buckets = 1 } = row;
      this.#rows.set(cellOf(all_groups === 1 ? undefined : g, all_buckets === 1 ? undefined : bucket), row);
    }
  }

  /** The row about a group in all buckets. */
  row(group: Group): FigureRow | undefined {
    return this.#rows.get(cellOf(group, undefined));
  }

  of(group: Group): Figures {
    const { metrics, buckets } = this;
    const values = Object.fromEntries(metrics.map((metric, index) => [metric.name, this.#value(metric, index, group)]));
    if (buckets === undefined) return { values };
    const series = metrics.map((metric, index) => {
      return [metric.name, buckets.starts.map((start) => this.#value(metric, index, group, start))] as const;
    });
    return { values, series: Object.fromEntries(series) };
  }

  #value({ sql, empty }: Metric, index: number, group: Group, bucket?: bigint): number | null {
    const cell = cellOf(group, bucket);
    if (sql === undefined) return this.costs.get(cell) ?? 0;
    const found = this.#rows.get(cell)?.[`m${index}`];
    return found === undefined || found === null ? empty : Number(found);
  }
}
