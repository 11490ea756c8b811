import type { TokenSequence } from "../port.js";
import { seededOrder } from "./seeded-order.js";

/** Tokens per step are a multiple of this, as in the trainer that defines these jobs. */
const tokenMultiple = 2048;

/**
 * Divides a job's sequences into optimizer steps. Groups keep their order, and the sequences of a group are shuffled. A
 * step is filled until `tokensPerStep` or `sequencesPerStep` would be exceeded; then the steps are shuffled. A prompt
 * that all sequences of a group share counts once per step. The default of `tokensPerStep` is the length of the longest
 * sequence, rounded up to a multiple of 2048. A longer sequence has a step of its own. Each of several `passes` has steps
 * of its own, shuffled anew, after those of the pass before.
 *
 * @returns indices into `sequences` by step; the same for the same seed.
 */
export function optimizerSteps(
  sequences: { group: number; sequence: TokenSequence }[],
  seed: number,
  { tokensPerStep, sequencesPerStep = Infinity, passes = 1 }: StepLimits = {},
): number[][] {
  const limits = {
    tokens: tokensPerStep ?? Math.ceil(longestSequence(sequences) / tokenMultiple) * tokenMultiple,
    sequences: sequencesPerStep,
  };
  const groups = new Map<number, number[]>();
  for (const [at, { group }] of sequences.entries()) {
    const members = groups.get(group);
    if (members) members.push(at);
    else groups.set(group, [at]);
  }
  const draws = seededOrder(seed);
  return Array.from({ length: passes }, () => stepsOfPass(sequences, [...groups.values()], limits, draws)).flat();
}

interface StepLimits {
  tokensPerStep?: number | undefined;
  sequencesPerStep?: number | undefined;
  passes?: number | undefined;
}

function stepsOfPass(
  sequences: { sequence: TokenSequence }[],
  groups: number[][],
  limits: { tokens: number; sequences: number },
  draws: ReturnType<typeof seededOrder>,
): number[][] {
  const steps: number[][] = [];
  let step: number[] | undefined;
  let freeTokens = 0;
  for (const members of groups) {
    const prompt = sharedPrompt(members.map((at) => sequences[at]?.sequence));
    let promptStep: number[] | undefined;
    for (const at of draws.shuffled(members)) {
      const tokens = sequences[at]?.sequence.tokens.length ?? 0;
      const added = step && promptStep === step ? tokens - prompt : tokens;
      if (step && added <= freeTokens && step.length < limits.sequences) {
        step.push(at);
        freeTokens -= added;
      } else {
        step = [at];
        steps.push(step);
        freeTokens = limits.tokens - tokens;
      }
      promptStep = step;
    }
  }
  return draws.shuffled(steps);
}

function longestSequence(sequences: { sequence: TokenSequence }[]): number {
  return sequences.reduce((most, { sequence }) => Math.max(most, sequence.tokens.length), 1);
}

/** Returns the length of the longest common prefix without a trained token. */
function sharedPrompt(sequences: (TokenSequence | undefined)[]): number {
  const [first, ...others] = sequences;
  if (!first || others.length === 0) return 0;
  let length = untrainedPrefix(first);
  for (const other of others) {
    if (!other) continue;
    length = Math.min(length, untrainedPrefix(other));
    for (let t = 0; t < length; t++) if (other.tokens[t] !== first.tokens[t]) length = t;
  }
  return length;
}

function untrainedPrefix({ mask }: TokenSequence): number {
  const first = mask.indexOf(1);
  return first < 0 ? mask.length : first;
}
