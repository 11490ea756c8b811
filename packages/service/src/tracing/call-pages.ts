import { mapConcurrently } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import { reply } from "@heddle/server-stub";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import type { CallsPage, PageStart } from "@heddle/trace-store";
import { currentScope, currentSharer, reserveForResponse, reserveForStream } from "../limits/request-scope.js";
import { TailPlaces } from "../limits/tail-places.js";
import type { Caller, Services } from "../services.js";
import { CallCursors } from "../wire/call-cursor.js";
import { SharedBatches } from "../wire/call-tail.js";
import { wireCallRow } from "../wire/call-row.js";
import { withQueueMembership } from "../wire/queue-membership.js";
import { wireTime } from "../wire/time.js";
import { UserNames } from "../wire/user-names.js";

type PageRequest = Schemas["CallsPageReq"];
type TailRequest = Schemas["CallsTailReq"];

const eventStream = "text/event-stream";
/** Users of a page that are looked up at once. */
const namesAtOnce = 16;

export function callPageHandlers({ config, control, replicas, store }: Services): TracingHandlers<Caller>["callPages"] {
  const places = new TailPlaces(replicas);
  const batches = new SharedBatches();

  async function* followCalls(
    body: TailRequest,
    { leave, signal, isEvents }: { leave: () => void; signal: AbortSignal; isEvents: boolean },
    lastEventId?: string,
  ) {
    try {
      const names = new UserNames(control);
      const include = includedIn(body.include);
      const nameOf = async (id: string) => (include.users ? await names.of(id) : undefined);
      const after = lastEventId ?? body.after;
      const request = {
        ...(await withQueueMembership(control, body)),
        ...include,
        after: after === undefined ? undefined : BigInt(after),
        seconds: Math.min(body.seconds, config.limits.tailSeconds),
      };
      for await (const batch of store.callTails.tail(request, { signal, reserve: reserveForStream() }))
        yield await batches.of(batch, isEvents, nameOf);
    } catch (error) {
      const isOfHeader = lastEventId !== undefined && error instanceof HeddleError && error.loc?.[0] === "after";
      throw isOfHeader ? error.with({ loc: ["Last-Event-ID"] }) : error;
    } finally {
      leave();
    }
  }

  return {
    callsTail({ body, headers, signal }) {
      const leave = places.take(currentSharer() ?? { key: "", entity: "" });
      // A stream that nobody begins to read ends with its request.
      signal.addEventListener("abort", leave, { once: true });
      const isEvents = currentScope()?.request.header("accept")?.toLowerCase().includes(eventStream) === true;
      const events = followCalls(body, { leave, signal, isEvents }, headers["Last-Event-ID"]);
      return isEvents ? reply(200, events, { "content-type": eventStream }) : events;
    },

    async callsPage({ body, signal }) {
      const cursors = new CallCursors(control.urlSignatures, body);
      const start = startOf(body, cursors);
      const include = includedIn(body.include);
      const request = { ...(await withQueueMembership(control, body)), ...include, start };
      const page = await store.callPages.page(request, { signal, reserve: reserveForResponse(["limit"]) });
      const names = new UserNames(control);
      const calls = await mapConcurrently(page.calls, namesAtOnce, async (row) =>
        wireCallRow(row, include.users && row.user_id ? await names.of(row.user_id) : undefined),
      );
      return {
        calls,
        ...(page.last !== undefined && { next: cursors.write(page.last) }),
        ...(page.first !== undefined && { previous: cursors.write(page.first) }),
        has_more: page.has_more,
        ...(page.total !== undefined && { total: page.total }),
        ...(page.search !== undefined && { search: wireProgress(page.search) }),
        seq: String(page.seq),
      };
    },
  };
}

function wireProgress({ complete, searched_to }: NonNullable<CallsPage["search"]>): Schemas["SearchProgress"] {
  return { complete, ...(searched_to !== undefined && { searched_to: formatTime(searched_to) }) };
}

function includedIn(include: PageRequest["include"] = []) {
  const has = (name: (typeof include)[number]) => include.includes(name);
  return { costs: has("costs"), feedback: has("feedback"), sizes: has("sizes"), users: has("users") };
}

function startOf({ after, before, at_time }: PageRequest, cursors: CallCursors): PageStart | undefined {
  const given = Object.entries({ after, before, at_time }).filter(([, value]) => value !== undefined);
  const [, second] = given;
  if (second !== undefined) {
    const names = given.map(([name]) => name).join(" and ");
    throw new HeddleError("unprocessable", `${names} exclude each other`, { loc: [second[0]] });
  }
  if (after !== undefined) return { after: cursors.read(after, "after") };
  if (before !== undefined) return { before: before === "end" ? undefined : cursors.read(before, "before") };
  return at_time === undefined ? undefined : { at_time: wireTime(at_time, "at_time") };
}
