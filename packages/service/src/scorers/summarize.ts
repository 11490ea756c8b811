import { jsonType, memberOf, objectEntries } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/** Statistics of the values at one path. */
interface Leaf {
  /** Of numbers that are finite, and of booleans as 0 and 1. */
  sum: number;
  count: number;
  trues: number;
  booleans: number;
}

interface Node extends Leaf {
  children: Map<string, Node>;
}

/** What was summarized so far, as plain data. */
export interface SummaryState {
  scores: Node;
  output: Node;
  latency: Node;
  paths: number;
}

/** Paths of one summary. Scores with more, such as keys made of data, are summarized as far as this. */
const maxPaths = 1000;
const maxDepth = 10;

/**
 * Summarizes the outputs of predictions and their scores: the mean at each path, where booleans are 0 and 1, and how many
 * booleans are true. The shape is that of the client libraries, which leave out the mean of booleans.
 */
export class ScoreSummary {
  readonly #state: SummaryState;

  constructor(state: SummaryState = { scores: newNode(), output: newNode(), latency: newNode(), paths: 0 }) {
    this.#state = state;
  }

  get state(): SummaryState {
    return this.#state;
  }

  /** Adds one prediction: an object with `output`, `scores` and `model_latency.mean`. */
  add(predicted: JsonText): void {
    const scores = memberOf(predicted, "scores");
    if (scores !== undefined) this.#collect(this.#state.scores, scores, 0);
    const output = memberOf(predicted, "output");
    if (output !== undefined) this.#collect(this.#state.output, output, 0);
    const latency = memberOf(memberOf(predicted, "model_latency") ?? "{}", "mean");
    if (latency !== undefined) this.#collect(this.#state.latency, latency, 0);
  }

  /** One member per scorer, and `output` and `model_latency` where they have numbers or booleans. */
  text(): JsonText {
    const members = new Map([
      ["output", summaryOf(this.#state.output)],
      ["model_latency", summaryOf(this.#state.latency)],
    ]);
    for (const [name, node] of this.#state.scores.children) members.set(name, summaryOf(node));
    const known = [...members].filter(([, summary]) => summary !== undefined);
    return `{${known.map(([name, summary]) => `${JSON.stringify(name)}:${JSON.stringify(summary)}`).join(",")}}`;
  }

  #collect(node: Node, value: JsonText, depth: number): void {
    switch (jsonType(value)) {
      case "number": {
        const number = Number(value);
        if (!Number.isFinite(number)) return;
        node.sum += number;
        node.count += 1;
        return;
      }
      case "boolean":
        node.booleans += 1;
        node.count += 1;
        if (value.trim() === "true") {
          node.trues += 1;
          node.sum += 1;
        }
        return;
      case "object":
        if (depth >= maxDepth) return;
        for (const entry of objectEntries(value)) {
          const child = this.#child(node, entry.key);
          if (child !== undefined) this.#collect(child, entry.value, depth + 1);
        }
        return;
      default:
    }
  }

  #child(node: Node, key: string): Node | undefined {
    const known = node.children.get(key);
    if (known !== undefined || this.#state.paths >= maxPaths) return known;
    this.#state.paths += 1;
    const created = newNode();
    node.children.set(key, created);
    return created;
  }
}

/** Adds predictions to a summary, and returns it. */
export function addToSummary({ state, outputs }: { state: SummaryState | undefined; outputs: readonly JsonText[] }) {
  const summary = new ScoreSummary(state);
  for (const output of outputs) summary.add(output);
  return summary.state;
}

function newNode(): Node {
  return { sum: 0, count: 0, trues: 0, booleans: 0, children: new Map() };
}

function summaryOf(node: Node): Record<string, unknown> | undefined {
  const members: Array<[string, unknown]> = [];
  if (node.count > 0) members.push(["mean", node.sum / node.count]);
  if (node.booleans > 0) members.push(["true_count", node.trues], ["true_fraction", node.trues / node.booleans]);
  for (const [key, child] of node.children) {
    const summary = summaryOf(child);
    if (summary !== undefined) members.push([key, summary]);
  }
  // Keys are data: `__proto__` is one like any other.
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
