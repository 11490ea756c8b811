import { Problem } from "@heddle/server-stub";
import type { KeyedRoute } from "../http/route.js";

/** What exporters of OpenTelemetry send next to traces, and where they send traces. */
type Signal = "logs" | "metrics";
const bases = ["/otel", "/agents/otel", "/traces", "/traces/otel", "/traces/agents/otel"];

/** Tells exporters of a signal that is not stored what to set. */
const unstoredSignal = (signal: Signal): string =>
  `Heddle stores traces and no ${signal}: switch their export off with OTEL_${signal.toUpperCase()}_EXPORTER=none`;

/**
 * `POST /v1/logs` or `/v1/metrics`. Exporters do not repeat what got 404, and log the message: what is not stored does
 * not look as if it were.
 */
function signalRoute(id: string, signal: Signal): KeyedRoute {
  const path = `/v1/${signal}`;
  return {
    id,
    // Some endpoints are set with a slash at their end.
    paths: [path, `${path}/`, ...bases.flatMap((base) => [base + path, `${base}${path}/`])],
    methods: ["POST"],
    access: { right: "write", project: "fields" },
    errors: "object",
    streamed: true,
    open: () => async () => {
      throw new Problem(404, unstoredSignal(signal));
    },
  };
}

export const otlpLogsRoute = signalRoute("otlpLogs", "logs");
export const otlpMetricsRoute = signalRoute("otlpMetrics", "metrics");
