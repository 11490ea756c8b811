import type { RefusedRequest } from "@heddle/server-stub/node";
import type { StoreObserver } from "@heddle/trace-store";
import type { RequestObserver } from "../limits/with-scope.js";
import { outageLog } from "../operations/outages.js";
import type { Logger } from "./logger.js";
import type { Metrics } from "./metrics.js";
import { refusedKeyLog } from "./refused-keys.js";
import type { SelfTracing } from "./self-tracing.js";
import type { ObservabilitySettings } from "../config/config.js";

/** What is reported of the work of the service, and to whom. */
export interface Observability {
  requests: readonly RequestObserver[];
  /** Undefined where nobody asks. */
  store: StoreObserver | undefined;
  metrics: Metrics | undefined;
  /** A request that never reached the service. */
  onRefused: (request: RefusedRequest) => void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Loads no library that the settings do not need. */
export async function openObservability(
  settings: Pick<ObservabilitySettings, "metrics" | "traces">,
  log: Logger,
  version: string,
): Promise<Observability> {
  const metrics = settings.metrics === "off" ? undefined : (await import("./metrics.js")).openMetrics(version);
  const traces = settings.traces && (await openTraces(settings.traces, log, version));
  const requests = [metrics?.requests, traces?.requests, requestLog(log), keyLog(log)].filter(
    (each) => each !== undefined,
  );
  return {
    requests,
    store: storeObserver(metrics, traces),
    metrics,
    onRefused({ requestId, status, reason }) {
      metrics?.onRefused(status);
      log.debug({ request_id: requestId, status }, `request refused: ${reason}`);
    },
    flush: async () => await traces?.flush(),
    close: async () => await traces?.close(),
  };
}

async function openTraces(
  settings: NonNullable<ObservabilitySettings["traces"]>,
  log: Logger,
  version: string,
): Promise<SelfTracing> {
  const { openSelfTracing } = await import("./self-tracing.js");
  const report = outageLog((line) => log.warn(line));
  const onFailed = (cause: Error): void => report(new Error("traces of the service cannot be exported", { cause }));
  return await openSelfTracing(settings, { version, onFailed });
}

/** Undefined where the level leaves these lines out: the response of every request would wait for them. */
function requestLog(log: Logger): RequestObserver | undefined {
  if (!log.isLevelEnabled("debug")) return undefined;
  return {
    onEnd({ caller }, { status, end, ms }) {
      const fields = { status, ms: Math.round(ms * 10) / 10, key_id: caller?.key_id };
      log.debug(end === "sent" ? fields : { ...fields, end }, "request");
    },
  };
}

function keyLog(log: Logger): RequestObserver | undefined {
  return log.isLevelEnabled("info") ? refusedKeyLog(log) : undefined;
}

function storeObserver(metrics: Metrics | undefined, traces: SelfTracing | undefined): StoreObserver | undefined {
  if (metrics === undefined && traces === undefined) return undefined;
  return {
    onStatement(statement) {
      metrics?.store.onStatement(statement);
      traces?.onStatement(statement);
    },
    onCommit: (commit) => metrics?.store.onCommit(commit),
  };
}
