import { createPromptReader } from "./prompt.js";
import type { Row, RowGroup, StartedRow } from "./row-group.js";
import { advance } from "./row-group.js";

/**
 * Reads the prompt of a row again, with all that was sampled after it, a chunk in each step; then the row goes on with the next
 * token. For models that compute a text otherwise from some length on; see `isLongText`.
 */
export function createReadingGroup(row: Row, rejoin: (started: StartedRow) => void): RowGroup {
  const { scheduled, completion } = row;
  const { weights, capacity, sharer } = scheduled;
  const sampled = completion.tokens.map(({ token }) => token);
  const text = Int32Array.from([...scheduled.context.request.prompt, ...sampled]);
  const reader = createPromptReader(weights, text);
  scheduled.rows++;
  let rows = 1;

  const end = () => {
    if (rows === 0) return;
    rows = 0;
    scheduled.rows--;
  };
  const readChunk = async (): Promise<void> => {
    const prompt = await reader.next();
    if (!prompt) return;
    const outputs = { output: prompt[completion.source], offset: 0 };
    const token = await advance(scheduled, completion, outputs, completion.next());
    end();
    if (token !== undefined) rejoin({ row, prompt, token, expectedRows: 0 });
  };

  return {
    weights,
    capacity,
    sharer,
    get rows() {
      return rows;
    },
    get allocatedRows() {
      return rows;
    },
    *requests() {
      if (rows > 0) yield scheduled;
    },
    async step() {
      const began = performance.now();
      try {
        if (scheduled.settled) end();
        else await readChunk();
      } catch (error) {
        scheduled.fail(error);
        end();
      }
      return performance.now() - began;
    },
  };
}
