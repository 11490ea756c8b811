import { readFileSync } from "node:fs";
import type { Jobs } from "@heddle/control-plane";
import type { EngineHost } from "@heddle/embedded-clickhouse";
import type { FairShare } from "@heddle/concurrency";
import type { TraceStore } from "@heddle/trace-store";
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";

export interface MetricSources {
  store: Pick<TraceStore, "load">;
  /** Undefined for a ClickHouse server. */
  engine: Pick<EngineHost, "state"> | undefined;
  jobs: Pick<Jobs, "active">;
  workingMemory: FairShare;
}

/** Metrics that are read at each scrape. */
export function gaugesOf({ store, engine, jobs, workingMemory }: MetricSources, registry: Registry): void {
  const gauge = (name: string, help: string, read: () => number) =>
    registry.registerMetric(
      new Gauge({
        name,
        help,
        registers: [],
        collect() {
          this.set(read());
        },
      }),
    );

  gauge("heddle_ingest_queue_requests", "Requests that wait for a commit.", () => store.load().waiting.requests);
  gauge("heddle_ingest_queue_rows", "Parts of calls that wait for a commit.", () => store.load().waiting.rows);
  gauge("heddle_ingest_queue_bytes", "About the bytes that wait for a commit.", () => store.load().waiting.bytes);
  registry.registerMetric(
    new Gauge({
      name: "heddle_ingest_memory_bytes",
      help: "About the memory of what ingest remembers of stored calls.",
      labelNames: ["kind"],
      registers: [],
      collect() {
        for (const [kind, bytes] of Object.entries(store.load().memory)) this.set({ kind }, bytes);
      },
    }),
  );
  gauge("heddle_working_memory_bytes", "Memory for all requests.", () => workingMemory.load.capacity);
  gauge("heddle_working_memory_used_bytes", "Memory that requests hold.", () => workingMemory.load.held);

  for (const [name, field, help] of [
    ["heddle_engine_slots", "capacity", "Statements that may run at once, by the kind of work."],
    ["heddle_engine_slots_used", "held", "Statements that run."],
    ["heddle_engine_slots_waiting", "waiting", "Statements that wait for a slot."],
  ] as const) {
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: ["pool"],
        registers: [],
        collect() {
          for (const [pool, load] of Object.entries(store.load().slots)) this.set({ pool }, load[field]);
        },
      }),
    );
  }

  registry.registerMetric(
    new Gauge({
      name: "heddle_jobs",
      help: "Background jobs of all services, by kind and state.",
      labelNames: ["kind", "state"],
      registers: [],
      async collect() {
        // Without a control plane there are no numbers, and the other metrics are needed most.
        const active = await jobs.active().catch(() => []);
        this.reset();
        for (const { kind, state, count } of active) this.set({ kind, state }, count);
      },
    }),
  );

  if (engine === undefined) return;
  gauge("heddle_engine_up", "Whether the embedded engine responds.", () => Number(engine.state().status === "ready"));
  gauge("heddle_engine_resident_memory_bytes", "Resident memory of the embedded engine's process.", () =>
    residentBytes(engine.state().pid),
  );
  registry.registerMetric(
    new Counter({
      name: "heddle_engine_restarts_total",
      help: "Restarts of the embedded engine.",
      registers: [],
      collect() {
        this.reset();
        this.inc(engine.state().restarts);
      },
    }),
  );
}

/** NaN, which Prometheus stores as no value, where the system does not report it. */
function residentBytes(pid: number | undefined): number {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Number(kilobytes) * 1024;
  } catch {
    return Number.NaN;
  }
}
