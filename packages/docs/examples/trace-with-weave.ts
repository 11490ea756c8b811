// Traces a function and the one that it calls with the npm package `weave`, then evaluates it on a dataset.
// WF_TRACE_SERVER_URL=http://127.0.0.1:4680 WANDB_API_KEY=<key> npx tsx trace-with-weave.ts
import * as weave from "weave";

interface Row {
  term: string;
  expected: string;
}

const client = await weave.init("local/examples");

const lookUp = weave.op(async function lookUp(term: string) {
  const glossary = new Map([["heddle", "lifts a thread of the warp"]]);
  return glossary.get(term) ?? "not in the glossary";
});
const explain = weave.op(async function explain({ datasetRow }: { datasetRow: Row }) {
  return `A ${datasetRow.term}: ${await lookUp(datasetRow.term)}`;
});
const contains = weave.op(function contains({ modelOutput, datasetRow }: { modelOutput: string; datasetRow: Row }) {
  return modelOutput.includes(datasetRow.expected);
});

const dataset = new weave.Dataset<Row>({
  name: "terms",
  rows: [
    { term: "heddle", expected: "warp" },
    { term: "shuttle", expected: "weft" },
  ],
});
const evaluation = new weave.Evaluation({ name: "terms-known", dataset, scorers: [contains] });
console.log(JSON.stringify(await evaluation.evaluate({ model: explain })));
await client.waitForBatchProcessing();
