import type { TracingClient } from "@heddle/client/tracing";

export type RecordedCall = Awaited<ReturnType<TracingClient["callsQuery"]>>["calls"][number];

interface Facts {
  /** Texts that inputs and outputs are searched for. */
  texts: readonly string[];
  /** Turns of each thread. */
  threads: Record<string, number>;
  usage: { requests: number; input: number; output: number };
}

/**
 * What calls recorded, for readers of the documentation and for comparison: names, tree, threads, models, tokens, and under
 * which names inputs and outputs have which of the texts. A value that is more than such a text has an ellipsis.
 */
export function recordingText(calls: readonly RecordedCall[], { texts, threads, usage }: Facts): string {
  const ids = new Set(calls.map(({ id }) => id));
  const lines: string[] = [];
  const write = (parent: RecordedCall | undefined, indent: string) => {
    const below = calls.filter(({ parent_id }) =>
      parent === undefined ? parent_id === null || !ids.has(parent_id ?? "") : parent_id === parent.id,
    );
    for (const call of below) {
      lines.push(`${indent}${[nameOf(call), ...factsOf(call)].join("  ")}`);
      for (const side of ["inputs", "output"] as const) {
        const text = valueText(call[side], texts);
        if (text !== undefined) lines.push(`${indent}    ${side.padEnd(6)}  ${text}`);
      }
      write(call, `${indent}  `);
    }
  };
  write(undefined, "");
  const turns = Object.entries(threads).map(([id, count]) => `thread ${id}: ${count} turns; `);
  const sum = `${usage.requests} requests with ${usage.input} + ${usage.output} tokens`;
  return `${lines.join("\n")}\n\n${turns.join("")}${sum}\n`;
}

function nameOf({ op_name, display_name, attributes }: RecordedCall): string {
  const span = (attributes as { otel_span?: { name: string } }).otel_span;
  const name = span?.name ?? /\/op\/([^:]+):/.exec(op_name)?.[1] ?? op_name;
  return display_name && display_name !== name ? `${name} “${display_name}”` : name;
}

function factsOf(call: RecordedCall): string[] {
  const attributes = call.attributes as Record<string, unknown>;
  const facts: string[] = [];
  const add = (name: string, value: unknown) => {
    if (typeof value === "string" && value !== "") facts.push(`${name} ${value}`);
  };
  add("kind", attributes["kind"]);
  add("agent", attributes["agent"]);
  add("tool", attributes["tool"]);
  const usage = Object.entries((call.summary as { usage?: Record<string, Counts> }).usage ?? {});
  if (usage.length === 0) add("model", attributes["model"]);
  for (const [model, counts] of usage) facts.push(`model ${model}`, countsText(counts));
  if (call.thread_id) facts.push(call.turn_id === call.id ? `turn of ${call.thread_id}` : `in ${call.thread_id}`);
  if (call.exception) facts.push(`failed: ${call.exception}`);
  if (call.ended_at === null) facts.push("running");
  return facts;
}

type Counts = Record<string, number>;

function countsText(counts: Counts): string {
  const input = counts["input_tokens"] ?? counts["prompt_tokens"];
  const output = counts["output_tokens"] ?? counts["completion_tokens"];
  const cached = (counts["prompt_tokens_details"] as unknown as Counts | undefined)?.["cached_tokens"];
  const read = counts["cache_read_input_tokens"] ?? cached ?? 0;
  return `${input} + ${output} tokens${read > 0 ? `, ${read} of them cached` : ""}`;
}

/** Under which names a value has which of the texts; undefined when there is no value. */
function valueText(value: unknown, texts: readonly string[]): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) return foundText(value, texts);
  const members = Object.entries(value);
  if (members.length === 0) return undefined;
  const found = members.map(([name, member]) => [name, foundText(member, texts)] as const);
  // Of several, those without any of the texts are not worth a mention.
  const listed = found.filter(([, text]) => text !== nothingFound || members.length === 1);
  return listed.map(([name, text]) => `${name} = ${text}`).join(", ") || nothingFound;
}

const nothingFound = "…";

function foundText(value: unknown, texts: readonly string[]): string {
  if (typeof value === "string" && texts.includes(value)) return `"${value}"`;
  const json = JSON.stringify(value);
  const found = texts.filter((text) => json.includes(text));
  // What is part of another text that is there says nothing of its own.
  const longest = found.filter((text) => !found.some((other) => other !== text && other.includes(text)));
  return longest.length === 0 ? nothingFound : `… ${longest.map((text) => `"${text}" …`).join(" ")}`;
}
