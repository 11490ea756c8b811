/**
 * Trains the starter model by rewards to answer "maybe" rather than "no" and "no" rather than "yes".
 *
 *   pnpm --filter @heddle/embedded-engine example:rl [steps] [picture.svg]
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { learningCurve } from "./learning-curve.js";
import { openModel } from "./open-model.js";
import { showProgress } from "./progress-bar.js";
import { learnFromRewards } from "./yes-no-maybe.js";

const steps = Number(process.argv[2] ?? 60);
const picture = resolve(process.argv[3] ?? ".heddle/learning-curve.svg");
const sizes = { groups: 8, samples: 8 };

const { engine, template, directory, close } = await openModel("heddle/starter");
try {
  const rewards: number[] = [];
  const begun = performance.now();
  for await (const { step, meanReward, answers } of learnFromRewards({
    engine,
    template,
    directory,
    steps,
    ...sizes,
    seed: 1,
  })) {
    rewards.push(meanReward);
    const share = (word: string) => answers.filter((answer) => answer === word).length;
    const counts = `yes ${share("yes")}, no ${share("no")}, maybe ${share("maybe")} of ${answers.length}`;
    showProgress(step + 1, steps, `reward ${meanReward.toFixed(2)}  ${counts}`);
  }
  await mkdir(dirname(picture), { recursive: true });
  await writeFile(picture, learningCurve("Mean reward of each step; line: mean of the last five", rewards, 1));
  const seconds = (performance.now() - begun) / 1000;
  console.log(
    `from ${mean(rewards.slice(0, 1))} (the untrained starter) to ${mean(rewards.slice(-5))} (last five steps)`,
  );
  console.log(`in ${seconds.toFixed(0)} s; curve in ${picture}`);
} finally {
  await close();
}

function mean(values: number[]): string {
  return (values.reduce((sum, each) => sum + each, 0) / values.length).toFixed(2);
}
