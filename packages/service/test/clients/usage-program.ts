// Ops of the npm package `weave` that use a language model, nested, streamed and failing.
import * as weave from "weave";

const [projectId = ""] = process.argv.slice(2);
const client = await weave.init(projectId);

const usage = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 };
const summarize = () => ({ usage: { "our-model": usage } });

const complete = weave.op(async () => "completion", { name: "complete", summarize });
const inner = weave.op(async () => await complete(), { name: "inner" });
const outer = weave.op(async () => await inner(), { name: "outer" });
const failing = weave.op(
  async () => {
    await inner();
    throw new Error("after the completion");
  },
  { name: "failing" },
);
const stream = weave.op(
  async function* stream() {
    yield "completion";
  },
  {
    name: "stream",
    streamReducer: {
      initialStateFn: () => [] as string[],
      reduceFn: (state: string[], chunk: string) => [...state, chunk],
      finalizeFn: (state: string[]) => state,
    },
    summarize,
  },
);
const reads = weave.op(
  async () => {
    for await (const _ of await Promise.resolve(stream()));
  },
  { name: "reads" },
);

await outer();
await failing().catch(() => undefined);
await reads();
await client.waitForBatchProcessing();
console.log(JSON.stringify({ done: true }));
