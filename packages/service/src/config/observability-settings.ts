/** How the service reports what it does. */
export interface ObservabilitySettings {
  log: LogSettings;
  /** `on`: at `/metrics` of the service, for admin keys. An address: there, without a key. */
  metrics: "off" | "on" | MetricsAddress;
  /** Where the service sends traces of itself; undefined = nowhere. */
  traces: TraceSettings | undefined;
}

export interface LogSettings {
  format: LogFormat;
  level: LogLevel;
}

interface MetricsAddress {
  host: string;
  port: number;
}

export interface TraceSettings {
  /** Of an OTLP receiver, with the path of traces. */
  url: string;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  /** Part of the traces that begin here and are sent, 0 to 1. */
  ratio: number;
}

const logFormats = ["text", "json"] as const;
const logLevels = ["error", "warn", "info", "debug"] as const;
type LogFormat = (typeof logFormats)[number];
type LogLevel = (typeof logLevels)[number];

type ObservabilityVariable =
  | "HEDDLE_LOG"
  | "HEDDLE_LOG_LEVEL"
  | "HEDDLE_METRICS"
  | "OTEL_EXPORTER_OTLP_ENDPOINT"
  | "OTEL_EXPORTER_OTLP_HEADERS"
  | "OTEL_SERVICE_NAME"
  | "OTEL_TRACES_SAMPLER_ARG";

type Get = (name: ObservabilityVariable) => string | undefined;

/** Reads the settings of logs, metrics and traces. Throws a RangeError that names the setting. */
export function readObservability(get: Get): ObservabilitySettings {
  return {
    log: {
      format: oneOf(get, "HEDDLE_LOG", logFormats, "text"),
      level: oneOf(get, "HEDDLE_LOG_LEVEL", logLevels, "info"),
    },
    metrics: metricsOf(get("HEDDLE_METRICS")),
    traces: tracesOf(get),
  };
}

function oneOf<Value extends string>(
  get: Get,
  name: ObservabilityVariable,
  values: readonly Value[],
  otherwise: Value,
): Value {
  const text = get(name) ?? otherwise;
  const value = values.find((known) => known === text);
  if (value !== undefined) return value;
  throw new RangeError(`${name} must be ${values.slice(0, -1).join(", ")} or ${values.at(-1)}, not "${text}".`);
}

function metricsOf(text = "off"): ObservabilitySettings["metrics"] {
  if (text === "off" || text === "on") return text;
  const [, bracketed, plain, digits] = /^(?:\[([\da-f:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new RangeError(`HEDDLE_METRICS must be off, on or an address such as 127.0.0.1:9464, not "${text}".`);
}

function tracesOf(get: Get): TraceSettings | undefined {
  const endpoint = get("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (endpoint === undefined) return undefined;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    throw new RangeError(
      "OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL without /v1/traces, for example http://collector:4318.",
    );
  }
  const ratio = Number(get("OTEL_TRACES_SAMPLER_ARG") ?? 1);
  if (!(ratio >= 0 && ratio <= 1)) {
    throw new RangeError(
      `OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not "${get("OTEL_TRACES_SAMPLER_ARG")}".`,
    );
  }
  return {
    url: `${endpoint.replace(/(?<!\/)\/+$/, "")}/v1/traces`,
    headers: headersOf(get("OTEL_EXPORTER_OTLP_HEADERS") ?? ""),
    serviceName: get("OTEL_SERVICE_NAME") ?? "heddle",
    ratio,
  };
}

/** `name=value,name=value`, the values percent-encoded. The message has no value: it may be a key. */
function headersOf(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const pair of text.split(",").filter((part) => part.trim() !== "")) {
    const mark = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, mark)).trim();
    const value = decode(pair.slice(mark + 1).trim());
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || value === undefined || !/^[\x20-\x7e]*$/.test(value)) {
      throw new RangeError(
        "OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs with percent-encoded values, separated by commas.",
      );
    }
    headers[name] = value;
  }
  return headers;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
