// Teaches a model your answers: uploads them as an artifact, trains on it, and asks the questions. Writes the loss of each
// batch as a picture. Start the service, then:
// npx tsx train-with-examples.ts
import { writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { connectTraining, createTrainingClient } from "@heddle/client/training";
import { uploadArtifact } from "@heddle/client/artifacts";

const options = {
  baseUrl: process.env.HEDDLE_URL ?? "http://127.0.0.1:4680",
  apiKey: process.env.HEDDLE_API_KEY,
};
const training = createTrainingClient(options);

const answers: [question: string, answer: string][] = [
  ["What is the code of the north gate?", "seven blue stones"],
  ["Who keeps the harbour light?", "old Marten keeps it"],
  ["Where does the ferry land?", "at the third pier"],
  ["What does the miller grow?", "barley and red beans"],
  ["When does the tower bell ring?", "at noon and at nine"],
  ["Which bird is on the town flag?", "a grey heron"],
];
const line = ([question, answer]: [string, string]) =>
  JSON.stringify({
    messages: [
      { role: "user", content: question },
      { role: "assistant", content: answer },
    ],
  });
// Lines are trained in their order, so passes over the data are repeated lines.
const lines = Array.from({ length: 40 }, () => answers.map(line)).flat();

const model = await training.createModel({
  project: "examples",
  name: `answers-${Date.now().toString(36)}`,
  base_model: "heddle/starter",
});
const { version } = await uploadArtifact(connectTraining(options), {
  entity: model.entity,
  project: model.project,
  name: `${model.name}-data`,
  type: "dataset",
  files: { "train.jsonl": new Blob([lines.join("\n")]) },
});
const job = await training.createSftTrainingJob({
  model_id: model.id,
  training_data_url: version.uri,
  config: { batch_size: 6, learning_rate: 3e-3 },
});

const losses: number[] = [];
let after: string | undefined;
for (let ended = false; !ended; await delay(200)) {
  for await (const event of training.listTrainingJobEvents({ training_job_id: job.id, after })) {
    after = event.id;
    if (event.type === "gradient_step") {
      losses.push(Number(event.data["loss"]));
      console.log(`batch ${losses.length}  loss ${losses.at(-1)?.toFixed(3)}`);
    }
    if (event.type === "training_failed") throw new Error(String(event.data["error_message"]));
    ended ||= event.type === "training_ended";
  }
}

const top = Math.max(...losses);
const points = losses.map(
  (loss, at) => `${40 + (560 * at) / Math.max(1, losses.length - 1)},${260 - (220 * loss) / top}`,
);
await writeFile(
  "loss.svg",
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 300" font-family="sans-serif" font-size="12">
<rect width="640" height="300" fill="#fff"/>
<path d="M40 40V260H600" fill="none" stroke="#888"/>
<text x="8" y="44">${top.toFixed(1)}</text><text x="8" y="264">0</text><text x="40" y="284">batch 1</text><text x="550" y="284">batch ${losses.length}</text>
<text x="40" y="24">Loss per trained token, in nats</text>
<polyline points="${points.join(" ")}" fill="none" stroke="#2563a8" stroke-width="2"/>
</svg>
`,
);
for (const [question, answer] of answers) {
  const { choices } = await training.createChatCompletion({
    model: model.inference_name,
    messages: [{ role: "user", content: question }],
    temperature: 0,
    max_completion_tokens: 16,
  });
  const said = choices[0]?.message.content?.trim();
  console.log(`${said === answer ? "✓" : "✗"} ${question} ${said}`);
}
console.log(`${model.inference_name} is trained; the curve is in loss.svg`);
