import type { CallsPageRawResult } from "@heddle/client/tracing";

export type TurnCall = CallsPageRawResult["calls"][number];

/** What a page of turns has that matters here. */
export interface TurnsPage {
  calls: TurnCall[];
  has_more: boolean;
}

/**
 * Pages of turns, oldest first, with turns as they are now: those that are there are replaced, others come where they began. Those
 * that began after a last page that others follow come with these.
 */
export function mergeTurns<Page extends TurnsPage>(pages: readonly Page[], turns: readonly TurnCall[]): Page[] {
  const merged = pages.map((page) => ({ ...page, calls: [...page.calls] }));
  for (const turn of turns) {
    const holder = merged.find(({ calls }) => calls.some(({ id }) => id === turn.id));
    if (holder !== undefined) {
      const place = holder.calls.findIndex(({ id }) => id === turn.id);
      const known = holder.calls[place];
      if (known !== undefined && BigInt(turn.seq) > BigInt(known.seq)) holder.calls[place] = turn;
      continue;
    }
    const into = merged.find(({ calls }) => calls.some((call) => isBefore(turn, call))) ?? merged.at(-1);
    if (into === undefined) continue;
    const place = into.calls.findIndex((call) => isBefore(turn, call));
    if (place >= 0) into.calls.splice(place, 0, turn);
    else if (!into.has_more) into.calls.push(turn);
  }
  return merged;
}

function isBefore(a: TurnCall, b: TurnCall): boolean {
  const [from, to] = [Date.parse(a.started_at), Date.parse(b.started_at)];
  if (from !== to) return from < to;
  // Within a millisecond the texts say it, which are of one length.
  return a.started_at === b.started_at ? a.id < b.id : a.started_at < b.started_at;
}

/** Pages without these turns. */
export const withoutTurns = <Page extends TurnsPage>(pages: readonly Page[], ids: ReadonlySet<string>): Page[] =>
  pages.map((page) => ({ ...page, calls: page.calls.filter(({ id }) => !ids.has(id)) }));
