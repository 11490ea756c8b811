// What a user of the npm package `weave` writes to evaluate; run as a program of its own, because the SDK may end its process.
import * as weave from "weave";

const client = await weave.init(String(process.argv[2]));

interface Question extends Record<string, string> {
  question: string;
  expected: string;
}
const rows: Question[] = [
  { question: "2+2?", expected: "4" },
  { question: "3+3?", expected: "6" },
  { question: "5+5?", expected: "10" },
];

interface Scored {
  modelOutput: string;
  datasetRow: Question;
}
const exact = weave.op(function exact({ modelOutput, datasetRow }: Scored) {
  return modelOutput === datasetRow.expected;
});
const graded = weave.op(function graded({ modelOutput }: Scored) {
  if (modelOutput === "10") throw new Error("no grade for this one");
  return { length: modelOutput.length, isShort: true, note: "as it should be" };
});
const model = weave.op(async function alwaysFour({ datasetRow }: { datasetRow: Question }) {
  if (datasetRow.question.startsWith("3")) throw new Error("cannot add this");
  return datasetRow.question.startsWith("2") ? "4" : "10";
});
const evaluation = new weave.Evaluation({
  name: "sums",
  dataset: new weave.Dataset({ name: "sums-data", rows }),
  scorers: [exact, graded],
});
const summary = await evaluation.evaluate({ model, nTrials: 2 });

const logger = new weave.EvaluationLogger({ name: "by-hand", model: { name: "some-model" }, dataset: "sums-data" });
for (const [index, row] of rows.entries()) {
  const prediction = await logger.logPredictionAsync(row, row.expected);
  await prediction.logScore("exact", true);
  await prediction.logScore("points", index / 4);
  // The last one is left to the summary.
  if (index < 2) await prediction.finish();
}
await logger.logSummary();

await client.waitForBatchProcessing();
process.stdout.write(JSON.stringify({ summary }));
