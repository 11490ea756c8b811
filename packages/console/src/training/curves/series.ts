import type { Checkpoint, ModelHistory, TrainingJobEvent } from "@heddle/client/training";

/** Numbers of one name over an axis, by rising x; both lists have one length. */
export interface Series {
  name: string;
  xs: number[];
  ys: number[];
}

/** What the curves run over. */
export const axisTitles = {
  step: "checkpoint step",
  gradient: "gradient step of the job",
  time: "time since the job began, s",
  tokens: "trained tokens of the job",
  logged: "step that clients logged",
} as const;
export type Axis = keyof typeof axisTitles;
export const axes = Object.keys(axisTitles) as Axis[];

const first = ["val/reward", "train/reward", "reward", "val/loss", "loss", "train/loss", "kl", "entropy"];
const place = (name: string): number => {
  const index = first.findIndex((known) => name === known || name.startsWith(`${known}_`));
  return index < 0 ? first.length : index;
};
/** What is asked most often first, then by name. */
const byPlace = (a: Series, b: Series): number => place(a.name) - place(b.name) || (a.name < b.name ? -1 : 1);

/** The metrics of checkpoints over their steps. What is not a finite number has no point. */
export function seriesOfCheckpoints(checkpoints: readonly Pick<Checkpoint, "step" | "metrics">[]): Series[] {
  const all = new Map<string, Series>();
  for (const { step, metrics } of checkpoints.toSorted((a, b) => a.step - b.step))
    for (const [name, value] of Object.entries(metrics)) add(all, name, step, value);
  return [...all.values()].toSorted(byPlace);
}

/** What clients logged to the run of a model, over its steps, or where it has none that rise, over its rows. */
export function seriesOfHistory({ series }: Pick<ModelHistory, "series">): Series[] {
  const named = series.map(({ key, rows, steps, values }): Series => {
    const xs = steps.flatMap((step) => (step === null ? [] : [step]));
    const rise = xs.length === rows.length && xs.every((x, index) => index === 0 || x > (xs[index - 1] ?? 0));
    return { name: key, xs: rise ? xs : rows, ys: values };
  });
  return named.filter(({ xs }) => xs.length > 0).toSorted(byPlace);
}

/** Grows by the events of a job, in their order: the numbers of its gradient steps over each axis. */
export class JobSeries {
  readonly #all = { gradient: new Map<string, Series>(), time: new Map<string, Series>(), tokens: new Map() };
  #began: number | undefined;
  #tokens = 0;
  #steps = 0;

  add({ type, created_at, data }: Pick<TrainingJobEvent, "type" | "created_at" | "data">): void {
    const time = Date.parse(created_at);
    this.#began ??= time;
    if (type !== "gradient_step") return;
    const { gradient_step: step, num_trainable_tokens: tokens } = data as Record<string, unknown>;
    if (typeof tokens === "number" && Number.isFinite(tokens)) this.#tokens += tokens;
    const at = typeof step === "number" ? step : this.#steps;
    this.#steps++;
    for (const [name, value] of Object.entries(data)) {
      if (name === "gradient_step") continue;
      add(this.#all.gradient, name, at, value);
      add(this.#all.time, name, (time - this.#began) / 1000, value);
      add(this.#all.tokens, name, this.#tokens, value);
    }
  }

  over = (axis: Exclude<Axis, "step" | "logged">): Series[] => [...this.#all[axis].values()].toSorted(byPlace);
}

function add(all: Map<string, Series>, name: string, x: number, value: unknown): void {
  if (typeof value !== "number" || !Number.isFinite(value)) return;
  let series = all.get(name);
  if (series === undefined) all.set(name, (series = { name, xs: [], ys: [] }));
  series.xs.push(x);
  series.ys.push(value);
}

/** The place of the point that is nearest to x; -1 without points. */
export function nearest(xs: readonly number[], x: number): number {
  let [low, high] = [0, xs.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? 0) < x) low = middle + 1;
    else high = middle;
  }
  const before = low - 1;
  return before >= 0 && x - (xs[before] ?? 0) <= (xs[low] ?? 0) - x ? before : low < xs.length ? low : -1;
}

/** What an axis runs over: a single point is in its middle. */
export function rangeOf(xs: readonly number[]): readonly [number, number] {
  const [least, greatest] = [xs[0] ?? 0, xs.at(-1) ?? 1];
  return least === greatest ? [least - 0.5, greatest + 0.5] : [least, greatest];
}

/** An exponential mean of the values before each, corrected for its beginning. */
export function smoothed(ys: readonly number[], weight = 0.9): number[] {
  let [sum, of] = [0, 0];
  return ys.map((y) => {
    sum = sum * weight + y * (1 - weight);
    of = of * weight + (1 - weight);
    return sum / of;
  });
}

/** What is drawn in one column of pixels. */
export interface Column {
  first: number;
  last: number;
  least: number;
  greatest: number;
}

/** The least and the greatest value that is drawn; undefined where nothing is. */
export function extentOf(columns: readonly (Column | undefined)[]): readonly [number, number] | undefined {
  let [low, high] = [Infinity, -Infinity];
  for (const column of columns) {
    if (column === undefined) continue;
    low = Math.min(low, column.least);
    high = Math.max(high, column.greatest);
  }
  return low > high ? undefined : [low, high];
}

/** The least and the greatest value of each column of pixels, so that no peak is lost; undefined where it has no point. */
export function columnsOf(
  { xs, ys }: Pick<Series, "xs" | "ys">,
  range: readonly [number, number],
  width: number,
): (Column | undefined)[] {
  const columns = Array.from({ length: width }, (): Column | undefined => undefined);
  const span = range[1] - range[0] || 1;
  for (const [index, x] of xs.entries()) {
    const at = Math.round(((x - range[0]) / span) * (width - 1));
    const y = ys[index] ?? 0;
    const column = columns[at];
    if (column === undefined) {
      if (at >= 0 && at < width) columns[at] = { first: y, last: y, least: y, greatest: y };
      continue;
    }
    column.last = y;
    if (y < column.least) column.least = y;
    if (y > column.greatest) column.greatest = y;
  }
  return columns;
}
