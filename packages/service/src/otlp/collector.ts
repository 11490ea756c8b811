/** The services of the collector of OpenTelemetry, and the paths at which HTTP has what they do. */
export const collectorMethods = {
  "/opentelemetry.proto.collector.trace.v1.TraceService/Export": "/v1/traces",
  "/opentelemetry.proto.collector.logs.v1.LogsService/Export": "/v1/logs",
  "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": "/v1/metrics",
};

/** Of all exporters together. A connection is one open file. */
export const mostGrpcConnections = 512;
export const mostGrpcCalls = 512;

/** The port of OpenTelemetry for gRPC. */
export const usualGrpcPort = 4317;
