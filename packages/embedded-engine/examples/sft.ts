/**
 * Trains the starter model on sixteen fictional answers and samples them.
 *
 *   pnpm --filter @heddle/embedded-engine example:sft [steps]
 */
import { openModel } from "./open-model.js";
import { showProgress } from "./progress-bar.js";
import { askAll, learnAnswers, pairs } from "./question-pairs.js";

const baseModel = "heddle/starter";
const steps = Number(process.argv[2] ?? 80);

const { engine, template, directory, close } = await openModel(baseModel);
try {
  const onStep = (step: number, loss: number): void => showProgress(step + 1, steps, `loss ${loss.toFixed(3)}`);
  const weights = await learnAnswers({ engine, template, baseModel, directory, steps, onStep });
  const answers = await askAll(engine, template, weights);
  for (const [at, [question, answer]] of pairs.entries()) {
    console.log(`${answers[at] === answer ? "✓" : "✗"} ${question} ${answers[at]}`);
  }
  console.log(`${pairs.filter(([, answer], at) => answers[at] === answer).length} of ${pairs.length} reproduced`);
} finally {
  await close();
}
