import { scopeOf } from "../call-reading/selection.js";
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
  /** The greatest version below every change of calls that is under way. */
  settled: () => bigint;
}

export interface Traces {
  /**
   * The calls of a trace as a tree shows them; running calls, and those whose parent has not come, are there as well. Every
   * change up to `seq` is in it.
   */
  outline(request: TraceOutlineRequest, options?: ReadOptions): Promise<TraceOutline & { seq: bigint }>;
}

/** `most`: calls that are read of one trace. */
export function openTraces(context: TracesContext, most: number = mostCalls): Traces {
  const { engine, costs, settled } = context;
  return {
    async outline(request, options) {
      const { project_id } = request;
      const source = {
        engine,
        scope: scopeOf(context, project_id),
        readBook: async () => await costs.book(project_id, options?.signal),
      };
      const seq = settled();
      return { ...(await traceOutline(source, request, most, options)), seq };
    },
  };
}
