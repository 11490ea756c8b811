import type { Outline } from "../call/outline.js";
import { formatCost, formatCount, formatDuration } from "../ui/format.js";

/** What can be compared of calls, in numbers; undefined where a call has none. */
export interface Figures {
  /** In microseconds. */
  time: number | undefined;
  tokens: number | undefined;
  cost: number | undefined;
}

/** Of a call itself. */
export function figuresOf({ data }: Outline, call: number): Figures {
  if (call < 0) return { time: undefined, tokens: undefined, cost: undefined };
  const [start, end] = [data.start_us[call], data.end_us[call]];
  return {
    // A call that ends before it starts took no time.
    time: start === undefined || typeof end !== "number" ? undefined : Math.max(0, end - start),
    tokens: data.tokens[call],
    cost: data.cost?.[call] ?? undefined,
  };
}

/** Time of the call that is compared; tokens and cost of all, added up. */
export function totalsOf(outline: Outline, root: string): Figures {
  const { tokens, cost = [] } = outline.data;
  const priced = cost.filter((each) => each !== null);
  return {
    time: figuresOf(outline, outline.indexOf(root)).time,
    tokens: tokens.reduce((sum, each) => sum + each, 0),
    cost: priced.length === 0 ? undefined : priced.reduce((sum, each) => sum + each, 0),
  };
}

export const formats = {
  time: (us: number) => formatDuration(us / 1000),
  tokens: formatCount,
  cost: formatCost,
} satisfies Record<keyof Figures, (value: number) => string>;

/** With its sign; empty where it does not differ, or one of the numbers is not there. */
export function differenceOf(of: keyof Figures, before: Figures, after: Figures): string {
  const [a, b] = [before[of], after[of]];
  if (a === undefined || b === undefined || a === b) return "";
  return signed(formats[of], b - a);
}

export const signed = (format: (value: number) => string, value: number): string =>
  value === 0 ? "0" : `${value < 0 ? "−" : "+"}${format(Math.abs(value))}`;
