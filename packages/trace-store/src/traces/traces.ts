import type { ReadOptions } from "../context.js";
import type { Costs } from "../costs/costs.js";
import type { Engine } from "../engine/engine.js";
import type { InFlight } from "../stored-calls/in-flight.js";
import { mostCalls, traceOutline } from "./outline.js";
import type { TraceOutline, TraceOutlineRequest } from "./outline.js";

export interface TracesContext {
  engine: Engine;
  /** Microseconds since 1970. */
  now: () => bigint;
  inFlight: InFlight;
  costs: Pick<Costs, "book">;
}

export interface Traces {
  /** The calls of a trace as a tree shows them; running calls, and those whose parent has not come, are there as well. */
  outline(request: TraceOutlineRequest, options?: ReadOptions): Promise<TraceOutline>;
}

/** `most`: calls that are read of one trace. */
export function openTraces({ engine, now, inFlight, costs }: TracesContext, most: number = mostCalls): Traces {
  return {
    outline(request, options) {
      const { project_id } = request;
      const source = {
        engine,
        scope: () => ({ project_id, now: now(), inFlight }),
        readBook: async () => await costs.book(project_id, options?.signal),
      };
      return traceOutline(source, request, most, options);
    },
  };
}
