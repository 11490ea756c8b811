// Fills a project of a running service with calls of every kind, so that the screens have something to show.
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { createTracingClient } from "@heddle/client";

const hostile = {
  script: "<script>window.planted = true</script>",
  image: '<img src=x onerror="window.planted = true">',
  svg: "<svg onload=window.planted=true><a href=javascript:window.planted=true>x</a></svg>",
  link: "[x](javascript:window.planted=true) data:text/html,<script>window.planted=true</script>",
  bidi: "invoice\u202Etxt.exe\u2066\u200F",
  ansi: "\u001B[31mred\u001B[0m\u0000\u0007",
  long: "w".repeat(100_000),
  arabic: "لماذا تأخر طلبي؟",
  japanese: "注文が遅れているのはなぜですか。",
};

const questions = [
  "Why is my order late? It was promised for the 24th.",
  "Refund for #8841",
  hostile.arabic,
  hostile.japanese,
  "Can I change the address of an order that has left the warehouse already, and what would that cost me?",
];

type Client = ReturnType<typeof createTracingClient>;

/** Writes about `count` calls into a project, newest last: traces of agents, some that failed, one that runs. */
export async function fill(client: Client, projectId: string, count = 600, now = Date.now()): Promise<void> {
  const batch: Parameters<Client["callStartBatch"]>[0]["batch"] = [];
  let createdCalls = 0;
  const add = (call: NewCall): string => {
    const id = `call-${String(createdCalls++).padStart(6, "0")}`;
    const { name, parent, trace, start, ms, inputs, output, exception, kind, usage } = call;
    const at = (time: number) => new Date(time).toISOString();
    const attributes = { weave: { kind }, deployment: "eu-1" };
    const common = { project_id: projectId, id };
    batch.push({
      mode: "start",
      req: {
        start: {
          ...common,
          trace_id: trace,
          parent_id: parent,
          op_name: name,
          started_at: at(start),
          attributes,
          inputs,
        },
      },
    });
    if (ms === undefined) return id;
    const summary = usage === undefined ? {} : { usage: { "gpt-4o-mini": { ...usage, requests: 1 } } };
    batch.push({ mode: "end", req: { end: { ...common, ended_at: at(start + ms), output, exception, summary } } });
    return id;
  };
  const traces = Math.ceil(count / 5);
  for (let trace = 0; trace < traces; trace++) {
    const start = now - (traces - trace) * 200_000;
    const fails = trace % 7 === 3;
    const runs = trace === traces - 1;
    const of = { trace: `trace-${String(trace).padStart(6, "0")}` };
    const question = questions[trace % questions.length] ?? "";
    const usage = { prompt_tokens: 812 + trace, completion_tokens: 96, total_tokens: 908 + trace };
    const total = fails ? 12_700 : 4100 + trace * 3;
    const root = add({
      ...of,
      name: "agent.answer",
      kind: "agent",
      start,
      ms: runs ? undefined : total,
      inputs: { question, customer: { id: 8841 + trace, tier: trace % 2 === 0 ? "gold" : "silver" } },
      output: fails ? undefined : { answer: "It left the warehouse on 24 November.", sources: [trace, trace + 1] },
      exception: fails ? "TimeoutError: orders.get did not respond within 12 s" : undefined,
    });
    const child = { ...of, parent: root };
    add({
      ...child,
      name: "retrieve",
      kind: "retrieval",
      start: start + 40,
      ms: 310,
      inputs: { query: question, limit: 4 },
      output: ["a", "b"],
    });
    const messages = [
      { role: "system", content: "You help with orders. Be brief." },
      { role: "user", content: question },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", function: { name: "orders.get", arguments: `{"id":"${8841 + trace}"}` } }],
      },
      { role: "tool", tool_call_id: "call_1", content: '{"state":"sent"}' },
    ];
    const answer = {
      role: "assistant",
      reasoning_content: "It was sent; say when.",
      content: "It left on 24 November.",
    };
    add({
      ...child,
      name: "chat",
      kind: "model",
      start: start + 400,
      ms: 1900,
      inputs: { model: "gpt-4o-mini", messages },
      output: { choices: [{ message: answer }] },
      usage,
    });
    const tool = add({
      ...child,
      name: "orders.get",
      kind: "tool",
      start: start + 2400,
      ms: fails ? 9800 : 700,
      inputs: { id: `${8841 + trace}` },
      output: fails ? undefined : { state: "sent" },
      exception: fails ? "TimeoutError: no response within 9.8 s" : undefined,
    });
    add({
      ...of,
      parent: tool,
      name: "http.get",
      kind: "other",
      start: start + 2410,
      ms: runs ? undefined : 650,
      inputs: { url: "https://orders.example/8841" },
      output: 200,
    });
  }
  for (let from = 0; from < batch.length; from += 500)
    await client.callStartBatch({ batch: batch.slice(from, from + 500) });
}

interface NewCall {
  name: string;
  trace: string;
  parent?: string;
  kind: string;
  start: number;
  /** Absent while it runs. */
  ms?: number | undefined;
  inputs: Record<string, unknown>;
  output?: unknown;
  exception?: string | undefined;
  usage?: object;
}

/** One trace with a call for each hostile text, in every field that has text; and wide and exact values. */
export async function fillHostile(client: Client, projectId: string, start = Date.now()): Promise<string> {
  const at = (ms: number) => new Date(start + ms).toISOString();
  const root = "hostile-root";
  const write = async (id: string, parent: string | undefined, text: string, inputs: object) => {
    const start_ = {
      project_id: projectId,
      id,
      trace_id: "hostile",
      parent_id: parent,
      op_name: text.slice(0, 128),
      display_name: text.slice(0, 1000),
      thread_id: text.slice(0, 100),
    };
    await client.callStart({
      start: { ...start_, started_at: at(0), attributes: { [text.slice(0, 200)]: text }, inputs: inputs as never },
    });
    await client.callEnd({
      end: {
        project_id: projectId,
        id,
        ended_at: at(900),
        output: { [text.slice(0, 200)]: [text] },
        exception: text,
        summary: {},
      },
    });
  };
  await write(root, undefined, hostile.script, { value: hostile.script });
  for (const [name, text] of Object.entries(hostile)) {
    const given = text.slice(0, 2000);
    await write(`hostile-${name}`, root, given, {
      [given]: text,
      json: JSON.stringify({ nested: [given] }),
      __proto__: text,
    });
  }
  return root;
}

/** A trace with many calls of one name, in which a parent is missing. */
export async function fillWide(
  client: Client,
  projectId: string,
  count = 400,
  start = Date.now(),
  name = "wide",
): Promise<string> {
  const at = (ms: number) => new Date(start + ms).toISOString();
  const trace = { project_id: projectId, trace_id: name, attributes: {} };
  const batch: Parameters<Client["callStartBatch"]>[0]["batch"] = [
    {
      mode: "start",
      req: {
        start: { ...trace, id: `${name}-root`, op_name: "index", started_at: at(0), inputs: { documents: count } },
      },
    },
  ];
  for (let index = 0; index < count; index++) {
    const id = `${name}-${index}`;
    const parent = index % 100 === 99 ? `${name}-gone` : `${name}-root`;
    const op = index % 100 === 50 ? "flush" : "embed";
    batch.push({
      mode: "start",
      req: { start: { ...trace, id, parent_id: parent, op_name: op, started_at: at(index * 10), inputs: { index } } },
    });
    batch.push({
      mode: "end",
      req: { end: { project_id: projectId, id, ended_at: at(index * 10 + 9), output: index, summary: {} } },
    });
  }
  await client.callStartBatch({ batch });
  return `${name}-root`;
}

/** Writes short calls into a project, so many a second, until it is stopped; then, how many a second they were. */
export function ingest(client: Client, projectId: string, rate: number): { stop: () => Promise<number> } {
  const [entity = "", project = ""] = projectId.split("/");
  const [perRequest, atOnce, begun] = [50, 4, Date.now()];
  const stopped = new AbortController();
  let sent = 0;
  const write = async () => {
    while (!stopped.signal.aborted) {
      sent += perRequest;
      const at = new Date().toISOString();
      const batch = Array.from({ length: perRequest }, (_, index) => {
        const id = randomUUID();
        const inputs = { question: `What came as ${sent + index}?` };
        const call = { project_id: projectId, id, trace_id: id, op_name: "ingested", started_at: at, ended_at: at };
        return { ...call, attributes: {}, inputs, output: "It came.", summary: {} };
      });
      await client.callsComplete({ entity, project, batch });
      await delay(Math.max(0, begun + (sent * 1000) / rate - Date.now()));
    }
  };
  const writers = Promise.all(Array.from({ length: atOnce }, write));
  return {
    stop: async () => {
      stopped.abort();
      await writers;
      return (sent * 1000) / (Date.now() - begun);
    },
  };
}
