import type { LoraConfig, LoraTarget } from "@heddle/training";
import type { LayerKind, ModelConfig, RotaryScaling } from "../src/model/config.js";
import type { ParameterSet } from "../src/model/parameters.js";
import { projectionShape } from "../src/model/parameters.js";
import type { Scalar } from "./tape.js";
import { Tape } from "./tape.js";

// A reference implementation of the model in double precision, which graphs are compared with. Computes one sequence
// at a time, token by token. It shares only the layout of the weights with the engine.

type Vector = Scalar[];

export interface Float64Model {
  config: ModelConfig;
  tape: Tape;
  /** Numbers of each parameter, also of the adapter's factors. */
  parameters: Map<string, Vector>;
  adapter?: LoraConfig;
  /** Of the text that is computed. */
  tokens: number;
}

export function inFloat64(
  config: ModelConfig,
  weights: ParameterSet,
  adapter?: { config: LoraConfig; set: ParameterSet },
  tape = new Tape(),
): Float64Model {
  const views = [...weights.views, ...(adapter?.set.views ?? [])];
  const parameters = new Map(views.map(([name, view]) => [name, tape.constants(view)]));
  return { config, tape, parameters, adapter: adapter?.config, tokens: 0 };
}

/** The same with every result and every derivative rounded to single precision: shows what is lost by rounding alone. */
export function inSinglePrecision(...[config, weights, adapter]: Parameters<typeof inFloat64>): Float64Model {
  return inFloat64(config, weights, adapter, new Tape(Math.fround));
}

/** Entry i is of tokens[i], given those before it; undefined for the first. */
export function float64Logprobs(model: Float64Model, tokens: ArrayLike<number>): (Scalar | undefined)[] {
  const { tape } = model;
  const logits = float64Logits(model, tokens);
  return Array.from(tokens, (token, i) => {
    const before = logits[i - 1];
    if (!before) return undefined;
    const total = tape.log(tape.sum(before.map((each) => tape.exp(each))));
    return tape.add(before[token]!, tape.scale(total, -1));
  });
}

/** Logits after each token. */
export function float64Logits(model: Float64Model, tokens: ArrayLike<number>): Vector[] {
  const { config } = model;
  model.tokens = tokens.length;
  const width = config.hiddenSize;
  const embedding = numbers(model, "embedding");
  const { embeddingScale = 1, logitScale = 1 } = config;
  let stream = Array.from(tokens, (token) =>
    embedding.slice(token * width, (token + 1) * width).map((value) => model.tape.scale(value, embeddingScale)),
  );
  for (let layer = 0; layer < config.layers; layer++) {
    stream = config.layerKinds?.[layer]?.linear ? linear(model, layer, stream) : attention(model, layer, stream);
    stream = feedForward(model, layer, stream);
  }
  const head = numbers(model, config.tiedEmbeddings ? "embedding" : "head");
  return stream.map((x) => {
    const y = norm(model, x, "final_norm");
    return Array.from({ length: config.vocabularySize }, (_, token) =>
      model.tape.scale(dot(model, y, head.slice(token * width, (token + 1) * width)), logitScale),
    );
  });
}

function attention(model: Float64Model, layer: number, stream: Vector[]): Vector[] {
  const { tape, config } = model;
  const { heads, keyValueHeads, headSize, queryKeyNorm, wideQueryKeyNorm, attentionBias } = config;
  const kind = config.layerKinds?.[layer] ?? {};
  const scale = config.attentionScale ?? 1 / Math.sqrt(headSize);
  const at = `layers.${layer}.`;
  const queries = (config.outputGate ? 2 : 1) * heads * headSize;
  const keys = keyValueHeads * headSize;
  const gates: Vector[][] = [];
  const y = config.norms === "after" ? stream : stream.map((x) => norm(model, x, `${at}attention_norm`));
  /** Heads of every token. */
  const part = (target: "q" | "k" | "v", from: number, width: number, gain: string): Vector[][] =>
    y.map((x, position) => {
      let out = product(model, x, numbers(model, `${at}qkv`), queries + 2 * keys).slice(from, from + width);
      if (attentionBias) out = out.map((value, i) => tape.add(value, numbers(model, `${at}qkv_bias`)[from + i]!));
      out = adapted(model, layer, target, x, out);
      if (config.outputGate && target === "q") {
        const halves = Array.from({ length: 2 * heads }, (_, i) => out.slice(i * headSize, (i + 1) * headSize));
        gates[position] = halves.filter((_, i) => i % 2 === 1);
        out = halves.filter((_, i) => i % 2 === 0).flat();
      }
      if (wideQueryKeyNorm && target !== "v") out = norm(model, out, at + gain);
      const split = Array.from({ length: out.length / headSize }, (_, i) =>
        out.slice(i * headSize, (i + 1) * headSize),
      );
      if (target === "v") return split;
      const isNormed = queryKeyNorm && !wideQueryKeyNorm;
      return split.map((head) => rotate(model, kind, isNormed ? norm(model, head, at + gain) : head, position));
    });
  const q = part("q", 0, queries, "query_norm");
  const k = part("k", queries, keys, "key_norm");
  const v = part("v", queries + keys, keys, "");
  return stream.map((x, t) => {
    const mixed = q[t]!.flatMap((query, head) => {
      const shared = Math.floor(head / (heads / keyValueHeads));
      const seen = stream.flatMap((_, u) => (u <= t && t - u < (kind.window ?? Infinity) ? [u] : []));
      const scores = seen.map((u) => tape.exp(tape.scale(dot(model, query, k[u]![shared]!), scale)));
      const sink = config.attentionSinks ? [tape.exp(numbers(model, `${at}sinks`)[head]!)] : [];
      const inverse = tape.power(tape.sum([...scores, ...sink]), -1);
      return query.map((_, i) =>
        gated(
          model,
          gates[t]?.[head]?.[i],
          tape.sum(seen.map((u, at) => tape.multiply(tape.multiply(scores[at]!, inverse), v[u]![shared]![i]!))),
        ),
      );
    });
    const out = biased(model, product(model, mixed, numbers(model, `${at}attention_output`), x.length), {
      name: config.outputBias && `${at}attention_output_bias`,
    });
    return added(model, adapted(model, layer, "o", mixed, out), x, `${at}attention_after_norm`);
  });
}

function gated(model: Float64Model, gate: Scalar | undefined, value: Scalar): Scalar {
  return gate === undefined ? value : model.tape.multiply(value, sigmoid(model, gate));
}

function sigmoid({ tape }: Float64Model, x: Scalar): Scalar {
  return tape.power(tape.scale(tape.exp(tape.scale(x, -1)), 1, 1), -1);
}

function silu(model: Float64Model, x: Scalar): Scalar {
  return model.tape.multiply(x, sigmoid(model, x));
}

/** Linear attention: a matrix by head that maps keys to values, changed by every token. */
function linear(model: Float64Model, layer: number, stream: Vector[]): Vector[] {
  const { tape, config } = model;
  const { keyHeads, valueHeads, keySize, valueSize, kernel } = config.linearAttention!;
  const at = `layers.${layer}.`;
  const [keys, values] = [keyHeads * keySize, valueHeads * valueSize];
  const mixed = 2 * keys + values;
  const columns = stream.map((x) => {
    const y = norm(model, x, `${at}attention_norm`);
    return product(model, y, numbers(model, `${at}linear_input`), mixed + values + 2 * valueHeads);
  });
  const weights = numbers(model, `${at}convolution`);
  /** [key][value] of each head. */
  const states = Array.from({ length: valueHeads }, () =>
    Array.from({ length: keySize }, () => Array.from({ length: valueSize }, () => tape.constant(0))),
  );
  return stream.map((x, t) => {
    const active = Array.from({ length: mixed }, (_, column) => {
      const terms = Array.from({ length: kernel }, (_, i) => {
        const from = columns[t - (kernel - 1) + i]?.[column];
        return from === undefined ? tape.constant(0) : tape.multiply(from, weights[i * mixed + column]!);
      });
      return silu(model, tape.sum(terms));
    });
    const own = columns[t]!;
    const unit = (from: number) => {
      const head = active.slice(from, from + keySize);
      const factor = tape.power(tape.scale(dot(model, head, head), 1, 1e-6), -0.5);
      return head.map((value) => tape.multiply(value, factor));
    };
    const outputs = states.flatMap((state, head) => {
      const shared = Math.floor(head / (valueHeads / keyHeads));
      const query = unit(shared * keySize).map((value) => tape.scale(value, 1 / Math.sqrt(keySize)));
      const key = unit(keys + shared * keySize);
      const value = active.slice(2 * keys + head * valueSize, 2 * keys + (head + 1) * valueSize);
      const rate = sigmoid(model, own[mixed + values + head]!);
      const step = tape.add(own[mixed + values + valueHeads + head]!, numbers(model, `${at}step_bias`)[head]!);
      const softplus = tape.log(tape.scale(tape.exp(step), 1, 1));
      const speed = tape.exp(numbers(model, `${at}log_decay`)[head]!);
      const decay = tape.exp(tape.scale(tape.multiply(speed, softplus), -1));
      const decayed = state.map((row) => row.map((each) => tape.multiply(each, decay)));
      const columnOf = (rows: Vector[], j: number) => rows.map((row) => row[j]!);
      const change = value.map((each, j) =>
        tape.multiply(rate, tape.add(each, tape.scale(dot(model, key, columnOf(decayed, j)), -1))),
      );
      decayed.forEach((row, i) =>
        row.forEach((each, j) => (state[i]![j] = tape.add(each, tape.multiply(key[i]!, change[j]!)))),
      );
      const output = change.map((_, j) => dot(model, query, columnOf(state, j)));
      const gates = own.slice(mixed + head * valueSize, mixed + (head + 1) * valueSize);
      return norm(model, output, `${at}linear_norm`).map((each, j) => tape.multiply(each, silu(model, gates[j]!)));
    });
    const out = product(model, outputs, numbers(model, `${at}linear_output`), x.length);
    return added(model, out, x, `${at}attention_after_norm`);
  });
}

function feedForward(model: Float64Model, layer: number, stream: Vector[]): Vector[] {
  const { tape, config } = model;
  const at = `layers.${layer}.`;
  return stream.map((x) => {
    const y = config.norms === "after" ? x : norm(model, x, `${at}feed_forward_norm`);
    if (config.experts) return added(model, mixture(model, at, y), x, `${at}feed_forward_after_norm`);
    const both = biased(model, product(model, y, numbers(model, `${at}gate_up`), 2 * config.feedForwardSize), {
      name: config.feedForwardBias && `${at}gate_up_bias`,
    });
    const gate = adapted(model, layer, "gate", y, both.slice(0, config.feedForwardSize));
    const up = adapted(model, layer, "up", y, both.slice(config.feedForwardSize));
    const active = gate.map((value, i) => {
      // The hyperbolic tangent of u is 2 sigmoid(2 u) - 1.
      const cube = tape.multiply(tape.multiply(value, value), value);
      const inner = tape.scale(tape.add(value, tape.scale(cube, 0.044715)), 2 * Math.sqrt(2 / Math.PI));
      const exponent = config.activation === "gelu_tanh" ? inner : value;
      const sigmoid = tape.power(tape.scale(tape.exp(tape.scale(exponent, -1)), 1, 1), -1);
      return tape.multiply(tape.multiply(value, sigmoid), up[i]!);
    });
    const out = biased(model, product(model, active, numbers(model, `${at}down`), x.length), {
      name: config.feedForwardBias && `${at}down_bias`,
    });
    return added(model, adapted(model, layer, "down", active, out), x, `${at}feed_forward_after_norm`);
  });
}

/** The sum of the likeliest experts of a token, by their probabilities. */
function mixture(model: Float64Model, at: string, y: Vector): Vector {
  const { tape, config } = model;
  const { count, perToken, sharesSumToOne, hasBiases, sharedWidth } = config.experts!;
  const width = config.feedForwardSize;
  const logits = biased(model, product(model, y, numbers(model, `${at}router`), count), {
    name: hasBiases && `${at}router_bias`,
  });
  const powers = logits.map((logit) => tape.exp(logit));
  const order = powers
    .map((_, expert) => expert)
    .toSorted((a, b) => tape.values[powers[b]!]! - tape.values[powers[a]!]!);
  const best = order.slice(0, perToken);
  const total = tape.power(tape.sum(sharesSumToOne ? best.map((expert) => powers[expert]!) : powers), -1);
  const results = best.map((expert) => {
    const part = (name: string, size: number) => numbers(model, at + name).slice(expert * size, (expert + 1) * size);
    const plus = (values: Vector, name: string) =>
      hasBiases ? values.map((value, i) => tape.add(value, part(name, values.length)[i]!)) : values;
    const both = plus(product(model, y, part("gate_up", y.length * 2 * width), 2 * width), "gate_up_bias");
    const active = both.slice(0, width).map((gate, i) => {
      if (config.limitedGate) return limited(model, config.limitedGate, gate, both[width + i]!);
      const sigmoid = tape.power(tape.scale(tape.exp(tape.scale(gate, -1)), 1, 1), -1);
      return tape.multiply(tape.multiply(gate, sigmoid), both[width + i]!);
    });
    const share = tape.multiply(powers[expert]!, total);
    const result = plus(product(model, active, part("down", width * y.length), y.length), "down_bias");
    return result.map((value) => tape.multiply(value, share));
  });
  if (sharedWidth !== undefined) results.push(sharedExpert(model, at, y, sharedWidth));
  return y.map((_, i) => tape.sum(results.map((result) => result[i]!)));
}

function sharedExpert(model: Float64Model, at: string, y: Vector, width: number): Vector {
  const { tape } = model;
  const both = product(model, y, numbers(model, `${at}shared_gate_up`), 2 * width);
  const active = both.slice(0, width).map((gate, i) => tape.multiply(silu(model, gate), both[width + i]!));
  const share = sigmoid(model, dot(model, y, numbers(model, `${at}shared_weight`)));
  return product(model, active, numbers(model, `${at}shared_down`), y.length).map((each) => tape.multiply(each, share));
}

/** (up + 1) gate sigmoid(slope gate) of numbers within the limit, as constants where they are beyond it. */
function limited({ tape }: Float64Model, { limit, slope }: { limit: number; slope: number }, gate: Scalar, up: Scalar) {
  const value = (of: Scalar) => tape.values[of]!;
  const below = value(gate) > limit ? tape.constant(limit) : gate;
  const within = Math.abs(value(up)) > limit ? tape.constant(Math.sign(value(up)) * limit) : up;
  const sigmoid = tape.power(tape.scale(tape.exp(tape.scale(below, -slope)), 1, 1), -1);
  return tape.multiply(tape.scale(within, 1, 1), tape.multiply(below, sigmoid));
}

/** The residual stream `x` with the result of a block. */
function added(model: Float64Model, result: Vector, x: Vector, gain: string): Vector {
  const { tape, config } = model;
  const normed = config.norms ? norm(model, result, gain) : result;
  return normed.map((value, i) => tape.add(tape.scale(value, config.residualScale ?? 1), x[i]!));
}

function adapted(model: Float64Model, layer: number, target: LoraTarget, x: Vector, out: Vector): Vector {
  const { tape, config, adapter } = model;
  if (!adapter?.targets.includes(target)) return out;
  const low = product(model, x, numbers(model, `layers.${layer}.${target}.a`), adapter.rank);
  const [, outputs] = projectionShape(config, target);
  const change = product(model, low, numbers(model, `layers.${layer}.${target}.b`), outputs);
  return out.map((value, i) => tape.add(value, tape.scale(change[i]!, adapter.alpha / adapter.rank)));
}

function numbers({ parameters }: Float64Model, name: string): Vector {
  const found = parameters.get(name);
  if (!found) throw new Error(`no parameter ${name}`);
  return found;
}

function biased(model: Float64Model, values: Vector, { name }: { name: string | false | undefined }): Vector {
  return name ? values.map((value, i) => model.tape.add(value, numbers(model, name)[i]!)) : values;
}

function dot({ tape }: Float64Model, x: Vector, y: Vector): Scalar {
  return tape.sum(x.map((value, i) => tape.multiply(value, y[i]!)));
}

/** x W, W row by row. */
function product(model: Float64Model, x: Vector, matrix: Vector, outputs: number): Vector {
  return Array.from({ length: outputs }, (_, j) => {
    const column = x.map((_, i) => matrix[i * outputs + j]!);
    return dot(model, x, column);
  });
}

function norm(model: Float64Model, x: Vector, gain: string): Vector {
  const { tape, config } = model;
  const scale = tape.power(tape.scale(dot(model, x, x), 1 / x.length, config.normEpsilon), -0.5);
  return x.map((value, i) => tape.multiply(tape.multiply(value, scale), numbers(model, gain)[i]!));
}

/** Turns the pairs (i, i + half) of the rotated part by position times their frequency. */
function rotate({ tape, config, tokens }: Float64Model, { rotary }: LayerKind, head: Vector, position: number): Vector {
  if (rotary === "none") return head;
  const width = config.rotarySize ?? head.length;
  const half = width / 2;
  const local = { ...config, rotaryBase: config.localRotaryBase ?? 0, rotaryScaling: undefined };
  const { rotaryScaling, ...shape } = rotary === "local" ? local : config;
  return head.map((value, i) => {
    if (i >= width) return value;
    const angle = position * frequency({ ...shape, rotaryScaling, headSize: width, tokens }, i % half);
    const scale = rotaryScaling && "attentionFactor" in rotaryScaling ? rotaryScaling.attentionFactor : 1;
    const other = i < half ? tape.scale(head[i + half]!, -1) : head[i - half]!;
    return tape.add(tape.scale(value, scale * Math.cos(angle)), tape.scale(other, scale * Math.sin(angle)));
  });
}

/** Frequencies of Llama 3, scaled by wavelength. */
function frequency(
  {
    rotaryBase,
    headSize,
    rotaryScaling,
    tokens,
  }: Pick<ModelConfig, "rotaryBase" | "headSize"> & { rotaryScaling?: RotaryScaling | undefined; tokens: number },
  pair: number,
): number {
  const plain = 1 / rotaryBase ** ((2 * pair) / headSize);
  if (!rotaryScaling) return plain;
  if (rotaryScaling.type === "linear") return plain / rotaryScaling.factor;
  if (rotaryScaling.type === "longrope") {
    const { divisors, longDivisors, originalContextLength } = rotaryScaling;
    return plain / (tokens > originalContextLength ? longDivisors : divisors)[pair]!;
  }
  if (rotaryScaling.type === "yarn") {
    const { factor, originalContextLength: context, betaFast, betaSlow } = rotaryScaling;
    // The pairs at which a frequency makes so many turns within the original context: base^(-2i/d) context = 2 pi turns.
    const at = (turns: number) => (headSize / 2) * (Math.log(context / (2 * Math.PI * turns)) / Math.log(rotaryBase));
    const first = Math.max(0, Math.floor(at(betaFast)));
    const last = Math.min(headSize - 1, Math.ceil(at(betaSlow)));
    if (pair <= first) return plain;
    return pair >= last ? plain / factor : plain * (1 + ((pair - first) / (last - first)) * (1 / factor - 1));
  }
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalContextLength } = rotaryScaling;
  const wave = (2 * Math.PI) / plain;
  if (wave < originalContextLength / high) return plain;
  if (wave > originalContextLength / low) return plain / factor;
  const smooth = (originalContextLength / wave - low) / (high - low);
  return (1 - smooth) * (plain / factor) + smooth * plain;
}
