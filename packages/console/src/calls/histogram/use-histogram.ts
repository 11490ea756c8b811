import { callsAggregate, callsPage } from "@heddle/client/tracing";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { BrowserSession } from "../../session/session.js";
import { useSession } from "../../session/session-context.js";
import { selectionOf, timeRangeOf } from "../calls-search.js";
import type { CallsSearch } from "../calls-search.js";
import { barsOf, usedPart } from "./bars.js";
import type { Bar } from "./bars.js";

export interface Histogram {
  bars: Bar[];
  /** Set where only calls from then on were counted. */
  since?: string;
}

const buckets = 120;
const refreshMs = 10_000;
/** What the service counts over at most, less a day for its buckets. */
const longestMs = 3650 * 86_400_000;
/** How often a part that has all calls is looked at closer. */
const closerLooks = 3;

interface Table {
  projectId: string;
  search: CallsSearch;
  /** What periods are counted from. */
  openedAt: number;
}

/** The calls of a table over time, by status: the same selection, so exactly these calls. */
export function useHistogram(
  { projectId, search, openedAt }: Table,
  { isLive, isOn }: { isLive: boolean; isOn: boolean },
) {
  const session = useSession();
  const selection = selectionOf(search, openedAt);
  return useQuery({
    queryKey: ["calls-histogram", projectId, selection],
    queryFn: ({ signal }) => readHistogram(session, { projectId, search, openedAt }, signal),
    placeholderData: keepPreviousData,
    enabled: isOn,
    refetchInterval: isLive ? refreshMs : false,
  });
}

async function readHistogram(session: BrowserSession, table: Table, signal: AbortSignal): Promise<Histogram> {
  const { projectId, search, openedAt } = table;
  const given = timeRangeOf(search, openedAt);
  let range = given.from === undefined ? await rangeOfAll(session, projectId, signal) : { from: given.from };
  if (range === undefined) return { bars: [] };
  let until = given.until ?? ("until" in range ? range.until : Date.now());
  for (let look = 0; ; look++) {
    const { from } = range;
    if (until <= from) return { bars: [] };
    const response = await callsAggregate(
      session.connection,
      {
        project_id: projectId,
        ...selectionOf(search, openedAt),
        time: { start: isoOf(from), end: isoOf(until), buckets, timezone },
        group_by: ["status"],
        metrics: ["count"],
      },
      { signal },
    );
    const bars = barsOf(response, { from, until });
    const used = given.from === undefined && look < closerLooks ? usedPart(bars) : undefined;
    if (used === undefined) return { bars, ...(response.since !== undefined && { since: response.since }) };
    range = { from: used.from };
    ({ until } = used);
  }
}

const isoOf = (time: number): string => new Date(time).toISOString();
const { timeZone: timezone } = new Intl.DateTimeFormat().resolvedOptions();

/** From the first call of the project to the last, or to now. Undefined without calls. */
async function rangeOfAll(
  session: BrowserSession,
  projectId: string,
  signal: AbortSignal,
): Promise<{ from: number; until: number } | undefined> {
  const read = async (start: { before?: "end" }) => {
    const { calls } = await callsPage(session.connection, { project_id: projectId, limit: 1, ...start }, { signal });
    return calls[0] && Date.parse(calls[0].started_at);
  };
  const [first, last] = await Promise.all([read({ before: "end" }), read({})]);
  if (first === undefined || last === undefined) return undefined;
  const until = Math.max(last + 1, Date.now());
  return { from: Math.max(first, until - longestMs), until };
}
