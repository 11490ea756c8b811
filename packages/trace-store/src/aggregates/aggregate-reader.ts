import { mainThread } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import { scopeOf } from "../call-reading/selection.js";
import type { SelectionContext } from "../call-reading/selection.js";
import type { ReadOptions } from "../context.js";
import { totalCost } from "../costs/cost-of.js";
import type { PriceBook } from "../costs/price-book.js";
import { Parameters } from "../engine/parameters.js";
import type { Buckets } from "../stats/buckets.js";
import { tokenSums, UsageCosts } from "../stats/usage-costs.js";
import type { TokenSums } from "../stats/usage-costs.js";
import type { CallScope } from "../visibility/call-scope.js";
import { callRows, groupingOf, startUs } from "./call-rows.js";
import type { AggregatedCalls, Top } from "./call-rows.js";
import type { Deadline } from "./deadline.js";
import { countBins } from "./distributions.js";
import type { Distribution, ParsedDistribution } from "./distributions.js";
import { cellOf, FigureTable } from "./figures.js";
import type { CallAggregates, FigureRow, Figures } from "./figures.js";
import { keyCharacters, pathOf } from "./group-keys.js";
import type { Metric } from "./metrics.js";
import { sentValues } from "./sent-values.js";

/** Groups × buckets × metrics of one response. */
export const maxNumbers = 500_000;

interface Aggregation {
  /** Groups at most. */
  top: number;
  metrics: readonly Metric[];
  distributions: readonly ParsedDistribution[];
  buckets: Buckets | undefined;
  book: PriceBook | undefined;
}

/** Any time that calls start at. Microseconds since 1970. */
const everyTime = { start: -(2n ** 60n), end: 2n ** 60n };

/** Reads the figures about some calls, with one statement for each kind of them. */
export class AggregateReader {
  constructor(
    readonly context: SelectionContext,
    readonly aggregation: Aggregation,
    readonly options: ReadOptions & { deadline: Deadline | undefined },
  ) {}

  async read(calls: AggregatedCalls): Promise<Omit<CallAggregates, "exact" | "since">> {
    const { buckets, distributions } = this.aggregation;
    const top = calls.groups.keys.length === 0 ? undefined : await this.#top(calls);
    const rows = await this.#rows(calls, top);
    const costs = await this.#costs(calls, top);
    const table = new FigureTable(rows, costs, this.aggregation.metrics, buckets);
    const groups: Array<{ row: FigureRow; group: Figures & { key: Array<string | null> } }> = [];
    for (const index of (top ?? []).keys()) {
      const row = table.row(index + 1);
      if (row !== undefined) groups.push({ row, group: { key: row.key ?? [], ...table.of(index + 1) } });
      await mainThread.giveWay();
    }
    await this.#nameGroups(calls, groups);
    const sorted = groups.toSorted((a, b) => Number(b.row.calls) - Number(a.row.calls)).map(({ group }) => group);
    return {
      total: table.of(undefined),
      groups: sorted,
      ...(table.row(0) && { other: table.of(0) }),
      ...(buckets && { time: { starts: buckets.starts, seconds: buckets.granularity } }),
      ...(distributions.length > 0 && { distributions: await this.#distributions(calls) }),
    };
  }

  /** The keys that most calls have. */
  async #top(calls: AggregatedCalls): Promise<Top[]> {
    const { top } = this.aggregation;
    return await this.#select<Top>(calls, (scope, p) => {
      const rows = callRows(calls, scope, p, {});
      return `SELECT toString(h) AS hash FROM (${rows}) GROUP BY h ORDER BY countIf(is_first) DESC, h LIMIT ${p.bind("UInt32", top)}`;
    });
  }

  /** One statement, so that groups and buckets add up. */
  async #rows(calls: AggregatedCalls, top: readonly Top[] | undefined): Promise<FigureRow[]> {
    const { metrics, buckets } = this.aggregation;
    return await this.#select<FigureRow>(calls, (scope, p) => {
      const hasPaths = calls.groups.keys.some((key) => pathOf(key) !== undefined);
      const select = [...(buckets === undefined ? [] : [startUs]), ...(hasPaths ? ["started_at"] : [])];
      const rows = callRows(calls, scope, p, { select, metrics, fields: true });
      const sets = groupingSets(top !== undefined, buckets !== undefined);
      const outputs = [
        "countIf(is_first) AS calls",
        ...metrics.map(({ sql = "0" }, index) => `${sql} AS m${index}`),
        ...(top === undefined ? [] : ["g", "toUInt8(grouping(g)) AS all_groups", keysOf(calls)]),
        ...(top !== undefined && hasPaths ? ["any((toUnixTimestamp64Micro(started_at), id)) AS example"] : []),
        ...(buckets === undefined ? [] : ["bucket", "toUInt8(grouping(bucket)) AS all_buckets"]),
      ];
      const from = `SELECT ${["*", ...groupingOf(p, top, buckets)].join(", ")} FROM (${rows})`;
      return `SELECT ${outputs.join(", ")} FROM (${from})${sets}`;
    });
  }

  /** Keys that are values of calls become what was sent. */
  async #nameGroups(
    { plan, groups: { keys } }: AggregatedCalls,
    groups: ReadonlyArray<{ row: FigureRow; group: { key: Array<string | null> } }>,
  ): Promise<void> {
    const parts = groups.flatMap(({ row: { example }, group: { key } }) =>
      keys.flatMap((of, index) => {
        const [text, path] = [key[index], pathOf(of)];
        if (typeof text !== "string" || path === undefined || example === undefined) return [];
        const [us, id] = example;
        return { printed: { text, us, id, column: path.column, path: path.path }, key, index };
      }),
    );
    const printed = parts.map((part) => part.printed);
    const { signal } = this.options;
    const sent = await sentValues(this.context, plan.project_id, printed, { characters: keyCharacters, signal });
    for (const [at, { key, index }] of parts.entries()) key[index] = sent[at] ?? null;
  }

  /** Costs by group and bucket, and of all. */
  async #costs(calls: AggregatedCalls, top: readonly Top[] | undefined): Promise<Map<string, number>> {
    const sums = new Map<string, number>();
    const { book, buckets } = this.aggregation;
    if (book === undefined) return sums;
    const costs = new UsageCosts(book, everyTime);
    const keys = [...(top === undefined ? [] : ["g"]), ...(buckets === undefined ? [] : ["bucket"])];
    type CostRow = TokenSums & { g?: number };
    const rows = await this.#select<CostRow>(calls, (scope, p) => {
      const counted = callRows(calls, scope, p, { select: [startUs], costs: true });
      const counts = ["prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_creation_tokens"];
      const columns = [
        "model",
        ...counts.map((count) => `${count}_of AS ${count}`),
        `${costs.periodOf(p, "us")} AS period`,
      ];
      const from = `SELECT ${[...columns, ...groupingOf(p, top, buckets)].join(", ")} FROM (${counted})`;
      const grouped = ["model", "period", ...keys];
      return `SELECT ${[...grouped, ...tokenSums].join(", ")} FROM (${from}) WHERE model != '' GROUP BY ${grouped.join(", ")}
        LIMIT ${maxNumbers + 1}`;
    });
    if (rows.length > maxNumbers) {
      throw new HeddleError("too_large", "too many models in too many groups and buckets: ask for fewer", {
        loc: ["top"],
      });
    }
    for (const { g, bucket, ...sum } of rows) {
      const priced = costs.priced(sum);
      if (priced === undefined) continue;
      const cells = [cellOf(g, bucket), cellOf(undefined, bucket), cellOf(g, undefined), cellOf(undefined, undefined)];
      for (const cell of new Set(cells)) sums.set(cell, (sums.get(cell) ?? 0) + totalCost(priced));
    }
    return sums;
  }

  async #distributions(calls: AggregatedCalls): Promise<Distribution[]> {
    const { distributions } = this.aggregation;
    const fields = distributions.flatMap(({ path }) => path ?? []);
    const ungrouped = { ...calls, fields, groups: { keys: [], byModel: false } };
    const select = distributions.flatMap((distribution) => distribution.select);
    return await countBins(distributions, async <T>(sql: (rows: string, p: Parameters) => string) => {
      const rowsOf = (scope: CallScope, p: Parameters) => callRows(ungrouped, scope, p, { select, fields: true });
      return await this.#select<T>(ungrouped, (scope, p) => sql(rowsOf(scope, p), p));
    });
  }

  async #select<T>({ plan }: AggregatedCalls, sqlOf: (scope: CallScope, p: Parameters) => string): Promise<T[]> {
    const { deadline, signal } = this.options;
    const scope = scopeOf(this.context, plan.project_id);
    const statement = () => {
      const p = new Parameters();
      return { sql: sqlOf(scope(), p), params: p };
    };
    const settings = { ...deadline?.settings, output_format_json_quote_denormals: 0 as const };
    return await this.context.engine.rows<T>(statement, { signal, settings });
  }
}

/** The texts of the keys of a group. */
function keysOf({ groups: { keys } }: AggregatedCalls): string {
  return `[${keys.map((_, index) => `any(k${index})`).join(", ")}] AS key`;
}

function groupingSets(byGroup: boolean, byBucket: boolean): string {
  if (!byGroup && !byBucket) return "";
  const sets = [
    "()",
    ...(byGroup ? ["(g)"] : []),
    ...(byBucket ? ["(bucket)"] : []),
    ...(byGroup && byBucket ? ["(g, bucket)"] : []),
  ];
  return ` GROUP BY GROUPING SETS (${sets.join(", ")})`;
}
