import { Problem, rawJson } from "@heddle/server-stub";
import type { ServerOptions } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { createTrainingServer } from "@heddle/server-stub/training";

// Takes the place of `examples/calls.ts`: streams without an end, and bodies that are read as they arrive.

const counts = { items: 0, endedStreams: 0, waiting: 0, endedWaits: 0 };
const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

export const handlers: Partial<TracingHandlers["calls"]> = {
  async *callsQueryStream({ body: { project_id } }) {
    const call = { id: "c", trace_id: "t", project_id, op_name: "f", started_at: "2026-04-10T09:00:00Z" };
    try {
      for (;;) {
        yield { ...call, attributes: rawJson("{}"), inputs: rawJson("{}") };
        counts.items++;
        await pause();
      }
    } finally {
      counts.endedStreams++;
    }
  },
  /** Waits until its client has left. */
  async callRead({ signal }) {
    counts.waiting++;
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    counts.endedWaits++;
    return { call: null };
  },
  callsDelete: () => {
    throw new Problem(409, JSON.stringify(counts));
  },
};

export const options: ServerOptions<unknown> = {
  fallback: createTrainingServer({
    trainingJobs: {
      async createRlTrainingJob({ body }) {
        let size = 0;
        for await (const chunk of body.stream) {
          size += chunk.length;
          if (size > 5_000_000) throw new Problem(422, "enough");
        }
        throw new Problem(409, `read ${size} bytes`);
      },
    },
  }),
};
