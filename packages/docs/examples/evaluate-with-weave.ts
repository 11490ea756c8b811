// Traces two functions and evaluates one of them with the weave SDK.
// WF_TRACE_SERVER_URL=http://127.0.0.1:4680 WANDB_API_KEY=$HEDDLE_API_KEY npx tsx evaluate-with-weave.ts local/examples
import * as weave from "weave";

const client = await weave.init(process.argv[2] ?? "local/examples");

const lookUp = weave.op(async function lookUp(topic: string) {
  return topic === "heddle" ? "It holds the warp threads apart." : "Nothing is known.";
});
const reply = weave.op(async function reply({ datasetRow }: { datasetRow: { topic: string } }) {
  return lookUp(datasetRow.topic);
});
const matches = weave.op(function matches(result: { modelOutput: string; datasetRow: { expected: string } }) {
  return result.modelOutput.includes(result.datasetRow.expected);
});

const dataset = new weave.Dataset({
  name: "topics",
  rows: [
    { topic: "heddle", expected: "warp" },
    { topic: "shuttle", expected: "weft" },
  ],
});
const evaluation = new weave.Evaluation({ name: "known topics", dataset, scorers: [matches] });
const summary = await evaluation.evaluate({ model: reply });
await client.waitForBatchProcessing();
console.log(JSON.stringify(summary));
