import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Context, Span } from "@opentelemetry/api";
import type { OTLPTraceExporter as OTLPTraceExporterType } from "@opentelemetry/exporter-trace-otlp-proto";
import type { ObservedStatement } from "@heddle/trace-store";
import type { HttpRequest } from "@heddle/server-stub";
import { currentScope } from "../limits/request-scope.js";
import type { RequestScope } from "../limits/request-scope.js";
import type { RequestObserver } from "../limits/with-scope.js";
import type { TraceSettings } from "../config/config.js";

/** Traces of the service itself: a span for each request, below it one for each statement of the trace engine. */
export interface SelfTracing {
  requests: RequestObserver;
  onStatement(statement: ObservedStatement): void;
  /** Sends what waits, unless that takes long. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface SelfTracingOptions {
  version: string;
  /** Called with each export that failed. */
  onFailed: (error: Error) => void;
}

const flushMs = 1000;

/** Nothing of OpenTelemetry is loaded before. */
export async function openSelfTracing(
  { url, headers, serviceName, ratio }: TraceSettings,
  { version, onFailed }: SelfTracingOptions,
): Promise<SelfTracing> {
  const [api, { W3CTraceContextPropagator }, { OTLPTraceExporter }, { resourceFromAttributes }, sdk] =
    await Promise.all([
      import("@opentelemetry/api"),
      import("@opentelemetry/core"),
      import("@opentelemetry/exporter-trace-otlp-proto"),
      import("@opentelemetry/resources"),
      import("@opentelemetry/sdk-trace-base"),
    ]);
  let closing = false;
  class Exporter extends OTLPTraceExporter {
    override export(...[spans, done]: Parameters<OTLPTraceExporterType["export"]>): void {
      super.export(spans, (result) => {
        if (result.error !== undefined && !closing) onFailed(result.error);
        done(result);
      });
    }
  }
  const exporter = new Exporter({ url, headers: { ...headers, traceparent: notSampled() } });
  const provider = new sdk.BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": serviceName, "service.version": version }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [new sdk.BatchSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer("@heddle/service", version);
  const propagator = new W3CTraceContextPropagator();
  const getter = { get: (request: HttpRequest, name: string) => request.header(name), keys: () => [] };
  const { SpanKind, SpanStatusCode } = api;
  const recorded = new WeakMap<RequestScope, { span: Span; context: Context; method: string }>();

  const shortly = (work: Promise<void>): Promise<void> =>
    Promise.race([work.catch(() => undefined), delay(flushMs, undefined, { ref: false })]);

  return {
    requests: {
      onBegin(scope, request) {
        const parent = propagator.extract(api.ROOT_CONTEXT, request, getter);
        const { method } = request;
        const attributes = { "http.request.method": method };
        const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
        if (span.isRecording()) recorded.set(scope, { span, context: api.trace.setSpan(parent, span), method });
      },
      onEnd(scope, { status, end }) {
        const { span, method } = recorded.get(scope) ?? {};
        if (span === undefined) return;
        const { route, id } = scope;
        if (route !== undefined) {
          span.updateName(`${method} ${route.path}`);
          span.setAttributes({ "http.route": route.path, "heddle.operation": route.id });
        }
        span.setAttributes({ "http.response.status_code": status, "heddle.request_id": id });
        if (status >= 500 || end !== "sent") span.setAttribute("error.type", end === "sent" ? String(status) : end);
        if (status >= 500 || end === "failed") span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    },
    onStatement({ kind, ms, failed }) {
      const scope = currentScope();
      const request = scope === undefined || scope.isEnded ? undefined : recorded.get(scope);
      if (request === undefined) return;
      const now = performance.timeOrigin + performance.now();
      const attributes = { "db.system.name": "clickhouse", "db.operation.name": kind };
      const options = { kind: SpanKind.CLIENT, attributes, startTime: now - ms };
      const span = tracer.startSpan(`trace engine ${kind}`, options, request.context);
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(now);
    },
    flush: () => shortly(provider.forceFlush()),
    async close() {
      closing = true;
      await shortly(provider.shutdown());
    },
  };
}

/**
 * The parent of every export: a trace that nobody records. A service that continues traces, this one or another that
 * sends its traces here, would otherwise make spans of the exports of spans, without end.
 */
function notSampled(): string {
  return `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-00`;
}
