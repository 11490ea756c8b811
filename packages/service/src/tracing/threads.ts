import { withLoc } from "@heddle/errors";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import type { TurnFilter } from "@heddle/trace-store";
import type { Caller, Services } from "../services.js";
import { wireTime } from "../wire/time.js";

export function threadHandlers({ store }: Services): TracingHandlers<Caller>["threads"] {
  async function* threads(body: Schemas["ThreadsQueryReq"], signal: AbortSignal) {
    const filter = withLoc(["filter"], () => turnFilter(body.filter));
    for await (const thread of store.threads.query({ ...body, filter }, { signal })) {
      yield {
        ...thread,
        start_time: formatTime(thread.start_time),
        last_updated: formatTime(thread.last_updated),
      };
    }
  }

  return { threadsQueryStream: ({ body, signal }) => threads(body, signal) };
}

function turnFilter(filter: Schemas["ThreadsQueryFilter"] = {}): TurnFilter {
  const time = (name: "after_datetime" | "before_datetime") => {
    const value = filter[name];
    return value === undefined ? undefined : wireTime(value, name);
  };
  return {
    thread_ids: filter.thread_ids,
    after_datetime: time("after_datetime"),
    before_datetime: time("before_datetime"),
  };
}
