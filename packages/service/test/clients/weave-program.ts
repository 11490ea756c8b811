// What a user of the npm package `weave` writes; run as a program of its own, because the SDK may end its process.
import * as weave from "weave";

// The project, and a dataset and an evaluation of it that were not made by the SDK.
const [projectId = "", ...madeElsewhere] = process.argv.slice(2);
const client = await weave.init(projectId);

const shout = weave.op(function shout(text: string) {
  return text.toUpperCase();
});
const greet = weave.op(async function greet(name: string) {
  // An op answers with a promise, whatever the function under it does; its types do not say so.
  return `hello ${await Promise.resolve(shout(name))}`;
});
const count = weave.op(
  async function* count(upTo: number) {
    for (let n = 1; n <= upTo; n++) yield n;
  },
  {
    streamReducer: {
      initialStateFn: () => [] as number[],
      reduceFn: (state: number[], chunk: number) => [...state, chunk],
      finalizeFn: (state: number[]) => state,
    },
  },
);
const fail = weave.op(async function fail() {
  throw new TypeError("nothing works");
});

await weave.withAttributes({ stage: "test" }, async () => greet("café"));
for await (const _n of await Promise.resolve(count(3)));
await fail().catch(() => undefined);

// One white pixel.
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII=",
  "base64",
);
const picture = weave.op(async function picture() {
  return weave.weaveImage({ data: png });
});
await picture();

const prompt = new weave.StringPrompt({ content: "Answer {question}" });
const promptRef = await client.publish(prompt, "my-prompt");

const dataset = new weave.Dataset({
  name: "questions",
  rows: [
    { question: "2+2?", expected: "4" },
    { question: "3+3?", expected: "6" },
    { question: "2+2?", expected: "4" },
  ],
});
const datasetRef = await dataset.save();

const exact = weave.op(function exact({
  modelOutput,
  datasetRow,
}: {
  modelOutput: string;
  datasetRow: { expected: string };
}) {
  return modelOutput === datasetRow.expected;
});
const model = weave.op(async function model({ datasetRow }: { datasetRow: { question: string } }) {
  return datasetRow.question.startsWith("2") ? "4" : "5";
});
const evaluation = new weave.Evaluation({ name: "sums", dataset, scorers: [exact] });
const summary = await evaluation.evaluate({ model });

const logger = new weave.EvaluationLogger({
  name: "logged by hand",
  model: { name: "some-model" },
  dataset: "some-rows",
});
for (const [question, output, expected] of [
  ["2+2?", "4", "4"],
  ["3+3?", "5", "6"],
]) {
  const prediction = await logger.logPredictionAsync({ question }, output);
  await prediction.logScore("equals", output === expected);
  await prediction.finish();
}
await logger.logSummary({ note: "half of them are right" });

await client.waitForBatchProcessing();
const calls = await client.getCalls({ trace_roots_only: true });
const renamed = calls.find((call) => call.op_name.includes("/op/greet:"));
if (renamed?.id) await client.updateCall(renamed.id, "renamed by the SDK");
const readDataset = (await client.get(datasetRef)) as weave.Dataset<Record<string, unknown>>;
const readRows = [];
for await (const row of readDataset) readRows.push(row);

const [foundDataset, foundEvaluation] = (await Promise.all(
  madeElsewhere.map(async (uri) => weave.ObjectRef.fromUri(uri).get() as unknown),
)) as [weave.Dataset<Record<string, unknown>>, Record<string, unknown>];
const foundRows = [];
for await (const { __savedRef: _, ...row } of foundDataset) foundRows.push(row);

process.stdout.write(
  JSON.stringify({
    roots: calls.map((call) => call.op_name),
    summary,
    prompt: promptRef.uri(),
    readPrompt: await client.get(promptRef),
    dataset: datasetRef.uri(),
    readRows,
    foundRows,
    foundEvaluation,
  }),
);
