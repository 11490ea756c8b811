import type { TrainingJob } from "@heddle/client/training";

/** As people call the kinds of training. */
export const kindNames: Readonly<Record<TrainingJob["kind"], string>> = {
  rl: "RL",
  sft: "SFT",
  preference: "preference",
};
