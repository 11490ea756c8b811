import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";

/** One request of each kind that the service works on for longer than a moment. */
export function longRequests(projectId: string, modelId: string | undefined): Record<string, [string, object]> {
  const [entity, project] = projectId.split("/");
  const messages = [{ role: "user", content: "Say the word loom." }];
  const completion = { model: "heddle/starter", messages, max_tokens: 400, ignore_eos: true };
  const fields = Array.from({ length: 60 }, (_, n) => `a${n}: runs(first: 100) { edges { node { config } } }`);
  const query = `query { project(name: "${project}", entityName: "${entity}") { ${fields.join(" ")} } }`;
  const fromCalls = { model_id: modelId, calls: { filter: {} }, reward: { feedback_type: "quality", path: "value" } };
  return {
    "a completion": ["/v1/chat/completions", completion],
    "a stream of a completion": ["/v1/chat/completions", { ...completion, stream: true }],
    "a vocabulary": ["/v1/chat/completions", { ...completion, stream: true, logprobs: true, top_logprobs: -1 }],
    "a template": [
      "/v1/chat/completions",
      {
        ...completion,
        chat_template: "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
      },
    ],
    "a constraint": [
      "/v1/chat/completions",
      { ...completion, structured_outputs: { regex: "((a{1,9}){1,99}){1,99}" } },
    ],
    "a long prompt": [
      "/v1/chat/completions",
      { ...completion, messages: [{ role: "user", content: "a".repeat(300_000) }], truncate_prompt_tokens: 9 },
    ],
    "a tail": ["/calls/tail", { project_id: projectId }],
    "a stream of calls": ["/calls/stream_query", { project_id: projectId }],
    "an aggregate": ["/calls/query_stats", { project_id: projectId }],
    GraphQL: ["/graphql", { query }],
    ...(modelId && { "a preview": ["/v1/preview/training-jobs/from-calls/preview", fromCalls] }),
  };
}

/**
 * Sends a request and leaves it after so long, wherever it is. Returns its status, 0 without a response. What has come of
 * a body is read.
 */
export async function leaveRequest(url: string, init: RequestInit, afterMs: number): Promise<number> {
  const leaving = new AbortController();
  const timer = delay(afterMs).then(() => leaving.abort());
  let status = 0;
  try {
    const response = await fetch(url, { ...init, signal: leaving.signal });
    status = response.status;
    await response.text();
  } catch {
    // It was left, or the service was killed.
  }
  await timer;
  return status;
}

/** What requests hold at the moment by the metrics of a service, besides the request for the metrics. */
export async function heldByRequests(url: string, key: string): Promise<Record<string, number>> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
  const values = [...(await response.text()).matchAll(/^heddle_(\w+(?:\{[^}]*\})?) ([\d.e+]+)$/gm)]
    .map(([, name = "", value]) => [name, Number(value) - (name === "http_requests_in_progress" ? 1 : 0)] as const)
    .filter(([name]) =>
      /^(http_requests_in|working_memory_used|engine_slots_\w+ing|engine_slots_used|jobs\{)/.test(name),
    );
  expect(values.length).toBeGreaterThan(5);
  return Object.fromEntries(values.filter(([, value]) => value > 0));
}
