/** One sequence as it arrives on the wire; all arrays have one entry per prediction. */
export interface WireSequence {
  inputs: number[];
  targets: number[];
  weights?: number[];
  logprobs?: number[];
  advantages?: number[];
}

export interface WireLossCall {
  loss: string;
  config: Record<string, number>;
  sequences: WireSequence[];
}

export interface SavedModel {
  logits: number[];
  first: number[];
  second: number[];
  steps: number;
}

/**
 * A model whose logits depend on the previous token only, with the losses, the gradient scale and the optimizer of a
 * training server. It is written from the wire's definitions, and shares no code with the client under test.
 */
export class BigramModel {
  readonly #vocabulary: number;
  readonly #scale: "sum" | "sequence_mean";
  #state: SavedModel;
  #gradient: number[];
  #sequences = 0;

  constructor(vocabulary: number, scale: "sum" | "sequence_mean") {
    this.#vocabulary = vocabulary;
    this.#scale = scale;
    const zeros = () => Array.from({ length: vocabulary ** 2 }, () => 0);
    this.#state = { logits: zeros(), first: zeros(), second: zeros(), steps: 0 };
    this.#gradient = zeros();
  }

  get logits(): readonly number[] {
    return this.#state.logits;
  }

  save(): SavedModel {
    return structuredClone(this.#state);
  }

  load(saved: SavedModel, optimizer: boolean): void {
    const kept = this.#state;
    this.#state = structuredClone(saved);
    if (!optimizer) this.#state = { ...kept, logits: this.#state.logits };
  }

  /** Returns losses and log-probabilities per token; with `backward`, adds the gradient. */
  run({ loss, config, sequences }: WireLossCall, backward: boolean) {
    return sequences.map((sequence) => {
      const mask = sequence.weights ?? sequence.targets.map(() => 1);
      const divisor = this.#scale === "sum" ? 1 : Math.max(sum(mask), 1e-9);
      const rows = sequence.inputs.map((token) => this.#distribution(token));
      const logprobs = rows.map((row, at) => row[sequence.targets[at]!]!);
      const terms = logprobs.map((logprob, at) => tokenLoss(loss, config, logprob, sequence, at));
      if (backward) {
        this.#sequences++;
        for (const [at, row] of rows.entries()) {
          const slope = (mask[at]! * terms[at]!.slope) / divisor;
          if (slope !== 0) this.#addGradient(sequence.inputs[at]!, sequence.targets[at]!, row, slope);
        }
      }
      return { logprobs, losses: terms.map(({ value }, at) => (mask[at] === 0 ? 0 : mask[at]! * value)) };
    });
  }

  /** Performs one step of Adam with decoupled weight decay. Returns the norm of the gradient before clipping. */
  step(adam: Record<string, number>, clips: boolean): number {
    const {
      learning_rate: rate = 0,
      beta1 = 0,
      beta2 = 0,
      eps = 0,
      weight_decay: decay = 0,
      grad_clip_norm: clip = 0,
    } = adam;
    const count = this.#scale === "sum" ? 1 : Math.max(this.#sequences, 1);
    const gradient = this.#gradient.map((each) => each / count);
    const norm = Math.sqrt(gradient.reduce((total, each) => total + each * each, 0));
    const factor = clips && clip > 0 ? Math.min(1, clip / norm) : 1;
    const { logits, first, second } = this.#state;
    const steps = ++this.#state.steps;
    for (const [at, each] of gradient.entries()) {
      first[at] = beta1 * first[at]! + (1 - beta1) * each * factor;
      second[at] = beta2 * second[at]! + (1 - beta2) * (each * factor) ** 2;
      const mean = first[at] / (1 - beta1 ** steps);
      const deviation = Math.sqrt(second[at] / (1 - beta2 ** steps));
      logits[at]! -= rate * (mean / (deviation + eps) + decay * logits[at]!);
    }
    this.#gradient.fill(0);
    this.#sequences = 0;
    return norm;
  }

  #distribution(previous: number): number[] {
    const row = this.#state.logits.slice(previous * this.#vocabulary, (previous + 1) * this.#vocabulary);
    const total = Math.log(sum(row.map(Math.exp)));
    return row.map((logit) => logit - total);
  }

  #addGradient(previous: number, target: number, row: number[], slope: number): void {
    for (const [token, logprob] of row.entries()) {
      const own = token === target ? 1 : 0;
      this.#gradient[previous * this.#vocabulary + token]! += slope * (own - Math.exp(logprob));
    }
  }
}

/** Returns the loss of one token and its derivative by the token's log-probability. */
function tokenLoss(
  name: string,
  config: Record<string, number>,
  logprob: number,
  { logprobs, advantages }: WireSequence,
  at: number,
): { value: number; slope: number } {
  if (name === "cross_entropy") return { value: -logprob, slope: -1 };
  // Servers compute with zeros when an input is missing.
  const ratio = Math.exp(logprob - (logprobs?.[at] ?? 0));
  const advantage = advantages?.[at] ?? 0;
  const { clip_low_threshold: low = 0.8, clip_high_threshold: high = 1.2 } = config;
  const clipped = Math.min(Math.max(ratio, low), high);
  if (name === "cispo") return { value: -clipped * advantage * logprob, slope: -clipped * advantage };
  const isFree = name !== "ppo" || ratio * advantage <= clipped * advantage;
  return isFree ? { value: -ratio * advantage, slope: -ratio * advantage } : { value: -clipped * advantage, slope: 0 };
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
