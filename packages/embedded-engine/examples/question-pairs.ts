/**
 * Supervised training on sixteen answers through the engine's port, used by `sft.ts` and, in a shorter form, by a test.
 */
import { join } from "node:path";
import { optimizerDefaults, scheduledLearningRate, supervisedSequence, trainedTokens } from "@heddle/training";
import type { BaseModelName, TrainingEngine, CrossEntropySequence, WeightsRef } from "@heddle/training";
import type { ChatTemplate } from "@heddle/chat-format";

/** Fictional, so that no model knows the answers. */
export const pairs: readonly [question: string, answer: string][] = [
  ["What is the code of the north gate?", "seven blue stones"],
  ["Who keeps the harbour light?", "old Marten keeps it"],
  ["Where does the ferry land?", "at the third pier"],
  ["What does the miller grow?", "barley and red beans"],
  ["When does the tower bell ring?", "at noon and at nine"],
  ["Which bird is on the town flag?", "a grey heron"],
  ["How many wells are in the village?", "four, one is dry"],
  ["What is hidden under the bridge?", "a box of copper nails"],
  ["Who wrote the song of the river?", "nobody remembers"],
  ["What do the children call the hill?", "the sleeping bear"],
  ["Which door is never locked?", "the one to the library"],
  ["What does the baker put on Sunday bread?", "poppy seeds and salt"],
  ["How long is the winter road?", "two days on foot"],
  ["What was the name of the first boat?", "the Patient Goose"],
  ["Who feeds the cats of the market?", "the woman with the green hat"],
  ["What is the last house made of?", "driftwood and glass"],
];

export interface SupervisedRun {
  engine: TrainingEngine;
  template: ChatTemplate;
  baseModel: BaseModelName;
  /** The checkpoint; must not exist. */
  directory: string;
  steps: number;
  onStep?: (step: number, loss: number) => void;
}

/** Every step trains on all pairs. The loss of a step is the mean over the tokens of the answers, in nats. */
export async function learnAnswers(run: SupervisedRun): Promise<WeightsRef> {
  const { engine, template, baseModel, directory, steps, onStep } = run;
  const optimizer = optimizerDefaults(baseModel, "sft");
  const sequences: CrossEntropySequence[] = await Promise.all(
    pairs.map(([question, answer]) => {
      const messages = [
        { role: "user", content: question },
        { role: "assistant", content: answer },
      ];
      return supervisedSequence({ messages }, { template, assistantTurns: "last" });
    }),
  );
  const normalizer = sequences.reduce((sum, sequence) => sum + trainedTokens(sequence), 0);
  const trainer = await engine.openTrainer({ weights: { baseModel }, seed: 1 });
  try {
    for (let step = 0; step < steps; step++) {
      const { loss } = await trainer.forwardBackward({ name: "cross_entropy", sequences, normalizer });
      await trainer.optimStep({ ...optimizer, learningRate: scheduledLearningRate(optimizer, step, steps) });
      onStep?.(step, loss);
    }
    return await trainer.exportWeights(join(directory, "answers"));
  } finally {
    await trainer.close();
  }
}

/** The greedy answer to every question. */
export async function askAll(engine: TrainingEngine, template: ChatTemplate, weights: WeightsRef): Promise<string[]> {
  return await Promise.all(
    pairs.map(async ([content]) => {
      const { ids: prompt } = await template.render({ messages: [{ role: "user", content }] });
      const { completions } = await engine.sampler.generate({ weights, prompt, n: 1, maxTokens: 32, temperature: 0 });
      return completions[0]?.text ?? "";
    }),
  );
}
