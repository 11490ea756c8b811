import { modelName, priceNames } from "@heddle/trace-model";
import type { ChosenPrice, Price } from "./price.js";

/** A price from a moment on. */
interface PriceSegment {
  /** Microseconds since 1970. */
  from: bigint;
  price: ChosenPrice;
}

/** The prices that count for one project: its own and the default list. */
export class PriceBook {
  readonly #own: ReadonlyMap<string, readonly Price[]>;
  readonly #defaults: ReadonlyMap<string, readonly Price[]>;
  readonly #projectId: string;
  readonly #timelines = new Map<string, Timeline | undefined>();

  constructor(projectId: string, own: readonly Price[], defaults: ReadonlyMap<string, readonly Price[]>) {
    this.#projectId = projectId;
    this.#own = pricesByModel(own);
    this.#defaults = defaults;
  }

  /**
   * The price of a model, by the first of {@link priceNames} that has one, for a call that started at this time: one that is in effect before future ones, one of the project
   * before the default list, then the latest effective date, then the one created last.
   */
  priceAt(model: string, at: bigint): ChosenPrice | undefined {
    const timeline = this.#timeline(model);
    return timeline?.segments.findLast(({ from }) => from <= at)?.price ?? timeline?.before;
  }

  /** The moments within a range, its start excluded, at which the price of any model changes, in order. */
  changes(start: bigint, end: bigint): bigint[] {
    const models = new Set([...this.#own.keys(), ...this.#defaults.keys()]);
    const moments = [...models].flatMap((model) => this.#timeline(model)?.segments.map(({ from }) => from) ?? []);
    return [...new Set(moments.filter((from) => from > start && from < end))].toSorted(ascending);
  }

  #timeline(model: string): Timeline | undefined {
    let timeline = this.#timelines.get(model);
    if (timeline === undefined) {
      timeline = this.#timelineOf(named(this.#own, model), named(this.#defaults, model));
      this.#timelines.set(model, timeline);
    }
    return timeline;
  }

  #timelineOf(own: readonly Price[], defaults: readonly Price[]): Timeline | undefined {
    const ownSegments = own.map((price) => segment(price, "project", this.#projectId));
    const defaultSegments = defaults.map((price) => segment(price, "default", "default"));
    const before = ownSegments.at(-1) ?? defaultSegments.at(-1);
    const [first] = ownSegments;
    // Once a price of the project is in effect, the default list no longer counts.
    const earlier = defaultSegments.filter(({ from }) => first === undefined || from < first.from);
    return before && { before: before.price, segments: [...earlier, ...ownSegments] };
  }
}

/** Prices in effect one after another, and the price of calls before all of them. */
interface Timeline {
  before: ChosenPrice;
  segments: PriceSegment[];
}

function segment(price: Price, level: "default" | "project", levelId: string): PriceSegment {
  return { from: price.effective_date, price: { ...price, pricing_level: level, pricing_level_id: levelId } };
}

function named(prices: ReadonlyMap<string, readonly Price[]>, model: string): readonly Price[] {
  const name = priceNames(model).find((one) => prices.has(one));
  return (name === undefined ? undefined : prices.get(name)) ?? [];
}

/** Prices by {@link modelName} in the order of their dates; of equal dates the one created last. */
export function pricesByModel(prices: readonly Price[]): Map<string, Price[]> {
  const sorted = prices.toSorted(
    (a, b) => ascending(a.effective_date, b.effective_date) || ascending(a.created_at, b.created_at),
  );
  const found = new Map<string, Price[]>();
  for (const price of sorted) {
    const name = modelName(price.llm_id);
    const list = found.get(name) ?? [];
    if (list.at(-1)?.effective_date === price.effective_date) list.pop();
    list.push(price);
    found.set(name, list);
  }
  return found;
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}
