import { leafAt, opKey, statedKind, usageOf } from "@heddle/trace-model";
import { stringValue } from "@heddle/exact-json";
import type { StoredCall } from "../src/stored-calls/stored-call.js";

/** A price for each token of a model. */
export type TokenPrices = Readonly<Record<string, number>>;

type Values = Record<string, number | null>;

/** Text at a path, null where there is none. */
function leafText(json: string, path: readonly string[]): string | null {
  const leaf = leafAt(json, path);
  return leaf === undefined ? null : (stringValue(leaf) ?? leaf);
}

const ended = ({ latency_us }: StoredCall) => latency_us !== null;
const usageRows = (call: StoredCall) => (ended(call) ? usageOf(call.summary) : []);

/** The keys of a call; one for each of its models where that is a key. The first of them stands for the call. */
export function keysOf(call: StoredCall, groupBy: readonly string[]): Array<Array<string | null>> {
  const models = groupBy.includes("model") ? usageRows(call).map(({ model }) => model) : [];
  return (models.length === 0 ? [null] : models).map((model) =>
    groupBy.map((name) => {
      if (name === "model") return model;
      if (name === "op") return opKey(call.op_name);
      if (name === "status") return call.status;
      if (name === "user") return call.wb_user_id;
      if (name === "kind") {
        const scorer = opKey(call.op_name).endsWith(".score") ? "scorer" : "other";
        return statedKind(call.attributes) ?? (usageRows(call).length > 0 ? "model" : scorer);
      }
      const [root = "", ...path] = name.split(".");
      return leafText(call[root as "inputs"], path);
    }),
  );
}

/** One call in one group: all of it, or what one of its models used. */
export interface Member {
  call: StoredCall;
  isFirst: boolean;
  /** Undefined where all models count. */
  model: string | null | undefined;
}

/** The metrics of some calls, each computed the plain way. */
export function valuesOf(members: readonly Member[], metrics: readonly string[], prices: TokenPrices): Values {
  const calls = members.filter(({ isFirst }) => isFirst).map(({ call }) => call);
  const usage = members.flatMap(({ call, model }) =>
    usageRows(call).filter((row) => model === undefined || row.model === model),
  );
  const latencies = calls
    .flatMap(({ latency_us: us }) => (us === null ? [] : [Number(us) / 1000]))
    .toSorted((a, b) => a - b);
  const sum = (list: readonly number[]) => list.reduce((total, n) => total + n, 0);
  const mean = (list: readonly number[]) => (list.length === 0 ? null : sum(list) / list.length);
  const quantile = (level: number) => {
    if (latencies.length === 0) return null;
    const at = level * (latencies.length - 1);
    const [low = 0, high = low] = [latencies[Math.floor(at)], latencies[Math.ceil(at)]];
    return low + (high - low) * (at - Math.floor(at));
  };
  const computed: Record<string, () => number | null> = {
    count: () => calls.length,
    errors: () => calls.filter(({ status }) => status === "error").length,
    running: () => calls.filter((call) => !ended(call)).length,
    latency_avg: () => mean(latencies),
    latency_max: () => latencies.at(-1) ?? null,
    latency_p50: () => quantile(0.5),
    latency_p95: () => quantile(0.95),
    latency_p99: () => quantile(0.99),
    requests: () => sum(usage.map((row) => row.requests)),
    tokens_input: () => sum(usage.map((row) => row.prompt_tokens)),
    tokens_output: () => sum(usage.map((row) => row.completion_tokens)),
    tokens_total: () => sum(usage.map((row) => row.total_tokens)),
    tokens_cache_read: () => sum(usage.map((row) => row.cache_read_tokens)),
    tokens_cache_creation: () => sum(usage.map((row) => row.cache_creation_tokens)),
    cost: () => sum(usage.map((row) => (prices[row.model] ?? 0) * (row.prompt_tokens + row.completion_tokens))),
  };
  const feedbackMean = (name: string) => {
    const [, type = "", path = ""] = /^feedback\.\[(.+)\]\.payload\.(.+)$/.exec(name) ?? [];
    const numbers = calls.flatMap(({ feedback = [] }) => {
      const first = feedback
        .map((text) => JSON.parse(text) as { feedback_type: string; payload: Record<string, unknown> })
        .find(({ feedback_type }) => feedback_type === type);
      const value = first?.payload[path];
      return typeof value === "number" || typeof value === "boolean" ? [Number(value)] : [];
    });
    return mean(numbers);
  };
  return Object.fromEntries(metrics.map((name) => [name, (computed[name] ?? (() => feedbackMean(name)))()]));
}
