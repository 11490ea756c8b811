import { newId } from "@heddle/trace-model";
import type { CallPart } from "@heddle/trace-model";

const words =
  "trace prompt model answer token context search result user agent plan step tool error retry score dataset".split(
    " ",
  );

/** Complete calls with about 2 KB of JSON each, in text that compresses like text. */
export function batchOfCalls(projectId: string, size: number, random: () => number): CallPart[] {
  const sentence = (length: number) =>
    Array.from({ length }, () => words[Math.floor(random() * words.length)]).join(" ");
  return Array.from({ length: size }, (): CallPart => {
    const id = newId();
    const startedAt = BigInt(Date.now()) * 1000n;
    const messages = [
      { role: "system", content: sentence(60) },
      { role: "user", content: `${sentence(50)}\n"${sentence(3)}"` },
    ];
    const usage = { "gpt-x": { requests: 1, prompt_tokens: 120, completion_tokens: 80, total_tokens: 200 } };
    return {
      part: "complete",
      start: {
        project_id: projectId,
        id,
        trace_id: id,
        op_name: "weave:///acme/demo/op/answer:R2M3VnB8",
        started_at: startedAt,
        attributes: JSON.stringify({ weave: { client_version: "0.52.0", source: "bench" }, seed: random() }),
        inputs: JSON.stringify({ model: "gpt-x", temperature: 0.5, messages }),
      },
      end: {
        project_id: projectId,
        id,
        ended_at: startedAt + 1_250_000n,
        output: JSON.stringify({ choices: [{ message: { role: "assistant", content: sentence(120) } }] }),
        summary: JSON.stringify({ usage, status_counts: { success: 1, error: 0 } }),
      },
    };
  });
}

/** Numbers from 0 to 1, the same in every run (mulberry32, public domain). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
