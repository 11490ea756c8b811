// Fills a project of a running service with evaluation runs as the weave libraries write them.
import { randomUUID } from "node:crypto";
import type { createTracingClient } from "@heddle/client";

type Client = ReturnType<typeof createTracingClient>;

const step = 1000;

/** Writes a run for each name, with as many rows; every seventh row of each but the first got worse. Returns their ids. */
export async function fillRuns(
  client: Client,
  projectId: string,
  models: readonly string[],
  rows: number,
): Promise<string[]> {
  const [entity = "", project = ""] = projectId.split("/");
  const ref = (kind: string, name: string) => `weave:///${projectId}/${kind}/${name}:x1`;
  const self = ref("object", "exam");
  const ids: string[] = [];
  for (const [run, name] of models.entries()) {
    const id = randomUUID();
    ids.push(id);
    const model = ref("object", name);
    const at = (second: number) => new Date(Date.UTC(2026, 3, 10 + run, 9, 0, second % 3600)).toISOString();
    const call = (op: string, index: number, fields: object) => ({
      project_id: projectId,
      id: randomUUID(),
      trace_id: id,
      op_name: ref("op", op),
      started_at: at(index),
      ended_at: at(index),
      attributes: {},
      inputs: {},
      output: null,
      summary: {},
      ...fields,
    });
    const calls = [call("Evaluation.evaluate", 0, { id, inputs: { self, model } })];
    for (let n = 0; n < rows; n++) {
      const isWorse = run > 0 && (n + run) % 7 === 0;
      calls.push(
        call("Evaluation.predict_and_score", n, {
          parent_id: id,
          inputs: { self, model, example: { question: `Why is order ${n} late?`, expected: `After ${n} days` } },
          output: {
            output: isWorse ? `After ${n} weeks` : `After ${n} days`,
            scores: { judge: { correct: !isWorse, points: (n % 100) / 100 - (isWorse ? 0.5 : 0) } },
            model_latency: 0.1,
          },
        }),
      );
    }
    for (let from = 0; from < calls.length; from += step)
      await client.callsComplete({ entity, project, batch: calls.slice(from, from + step) });
  }
  return ids;
}
