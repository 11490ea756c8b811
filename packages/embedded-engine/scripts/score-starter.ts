/**
 * Scores the shipped starter on held-out examples and prints the table of its model card.
 *
 *   pnpm --filter @heddle/embedded-engine starter:score [examples per task]
 */
import { openTokenizer } from "@heddle/chat-format";
import { openModel } from "../examples/open-model.js";
import type { Sampler, WeightsRef } from "@heddle/training";
import { examplesOf } from "./corpus/corpus.js";
import { isPassage } from "./corpus/example.js";
import type { EncodedExample } from "./training/encode.js";
import { encoder } from "./training/encode.js";
import { heldOutExamples, scoreByLogprobs } from "./training/held-out.js";
import { starterDirectory, starterRenderer } from "./training/starter-files.js";

const perTask = Number(process.argv[2] ?? 100);
const seed = 11;
const weights: WeightsRef = { baseModel: "heddle/starter" };

const { engine, close } = await openModel("heddle/starter");
try {
  const render = await starterRenderer();
  const heldOut = heldOutExamples(encoder(await openTokenizer(starterDirectory), render), perTask, seed);
  const trainer = await engine.openTrainer({ weights, seed });
  const scores = await scoreByLogprobs(heldOut, (sequences) => trainer.logprobs(sequences));
  await trainer.close();

  console.log("| Task | answered exactly | nats per token |\n| --- | ---: | ---: |");
  for (const { task, loss } of scores) {
    const examples = heldOut.find((each) => each.task === task)?.examples ?? [];
    const passage = isPassage(examplesOf(task, "held out", seed).next().value);
    const drawn = passage || task === "yes-no-maybe";
    const exact = drawn
      ? ""
      : `${((100 * (await exactAnswers(engine.sampler, examples))) / examples.length).toFixed(0)} %`;
    console.log(`| ${task} | ${exact} | ${loss.toFixed(3)} |`);
  }
  await printVerdicts(heldOut.find(({ task }) => task === "yes-no-maybe")?.examples ?? []);
} finally {
  await close();
}

/** Returns the number of answers that greedy decoding reproduces exactly, with the end of the turn. */
async function exactAnswers(sampler: Sampler, examples: EncodedExample[]): Promise<number> {
  const right = await Promise.all(
    examples.map(async ({ tokens, answer }) => {
      const expected = tokens.slice(answer);
      const prompt = Int32Array.from(tokens.slice(0, answer));
      const request = { weights, prompt, n: 1, maxTokens: expected.length, temperature: 0, skipSpecialTokens: false };
      const { completions } = await sampler.generate(request);
      const given = completions[0]?.tokens.map(({ token }) => token) ?? [];
      return given.length === expected.length && given.every((token, at) => token === expected[at]);
    }),
  );
  return right.filter(Boolean).length;
}

async function printVerdicts(examples: EncodedExample[]): Promise<void> {
  const counts = new Map<string, number>();
  const samples = 8;
  await Promise.all(
    examples.map(async ({ tokens, answer }, at) => {
      const prompt = Int32Array.from(tokens.slice(0, answer));
      const request = { weights, prompt, n: samples, maxTokens: 12, seed: seed + at * samples };
      const { completions } = await engine.sampler.generate(request);
      for (const { text } of completions) counts.set(text, (counts.get(text) ?? 0) + 1);
    }),
  );
  console.log(`\n${examples.length * samples} answers to held-out yes-no-maybe prompts, at temperature 1:\n`);
  for (const [text, count] of [...counts].toSorted(([, a], [, b]) => b - a).slice(0, 14)) {
    console.log(`| \`${JSON.stringify(text)}\` | ${((100 * count) / (examples.length * samples)).toFixed(1)} % |`);
  }
}
