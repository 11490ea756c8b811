// Records every run of two functions, one of which calls the other, as one trace.
// Start the service, then: HEDDLE_API_KEY=<key> npx tsx trace-a-function.ts
import { AsyncLocalStorage } from "node:async_hooks";
import { createTracingClient } from "@heddle/client";

const projectId = "local/examples";
const tracing = createTracingClient({
  baseUrl: process.env.HEDDLE_URL ?? "http://127.0.0.1:4680",
  apiKey: process.env.HEDDLE_API_KEY,
});

/** The call that is running where we are, so that a call made inside becomes its child. */
const current = new AsyncLocalStorage<{ id: string; trace_id: string }>();

function traced<Args extends unknown[], Result>(opName: string, run: (...args: Args) => Result | Promise<Result>) {
  return async (...args: Args): Promise<Result> => {
    const parent = current.getStore();
    const call = await tracing.callStart({
      start: {
        project_id: projectId,
        op_name: opName,
        parent_id: parent?.id,
        trace_id: parent?.trace_id,
        started_at: new Date().toISOString(),
        attributes: { example: true },
        inputs: { args },
      },
    });
    const end = (outcome: { output?: unknown; exception?: string }) =>
      tracing.callEnd({
        end: { project_id: projectId, id: call.id, ended_at: new Date().toISOString(), summary: {}, ...outcome },
      });
    try {
      const output = await current.run(call, () => run(...args));
      await end({ output });
      return output;
    } catch (error) {
      await end({ exception: String(error) });
      throw error;
    }
  };
}

const lookUp = traced("look-up", (word: string) => ({ word, length: word.length }));
const answer = traced("answer", async (question: string) => {
  const facts = await Promise.all(question.split(" ").map((word) => lookUp(word)));
  return `The longest of ${facts.length} words has ${Math.max(...facts.map(({ length }) => length))} letters.`;
});

console.log(await answer("What holds the warp threads apart"));
