import type { Steps } from "../steps.js";
import type { UsageRow } from "./usage.js";

/** Calls of one step. */
const stepCalls = 512;

/**
 * Usage of every call plus that of its descendants among the given calls, by model; `add` sums two rows of one model.
 * The usage of a call is its own, as of `ownUsage`. Calls whose parents form a circle keep their own.
 */
export function* rollUpUsage<Row extends UsageRow>(
  calls: Iterable<{ id: string; parent_id?: string | null; usage: readonly Row[] }>,
  add: (a: Row, b: Row) => Row,
): Steps<Map<string, Row[]>> {
  const nodes = new Map<string, Node<Row>>();
  let done = 0;
  for (const { id, parent_id, usage } of calls) {
    if (++done % stepCalls === 0) yield;
    nodes.set(id, { parent_id, waiting: 0, models: new Map(usage.map((row) => [row.model, row])) });
  }
  for (const node of nodes.values()) {
    if (++done % stepCalls === 0) yield;
    const parent = parentOf(nodes, node);
    if (parent) parent.waiting++;
  }
  const ready = [...nodes.values()].filter((node) => node.waiting === 0);
  for (let node = ready.pop(); node; node = ready.pop()) {
    if (++done % stepCalls === 0) yield;
    const parent = parentOf(nodes, node);
    if (!parent) continue;
    for (const [model, row] of node.models) {
      const sum = parent.models.get(model);
      parent.models.set(model, sum === undefined ? row : add(sum, row));
    }
    if (--parent.waiting === 0) ready.push(parent);
  }
  return new Map([...nodes].map(([id, node]) => [id, [...node.models.values()]]));
}

interface Node<Row> {
  parent_id?: string | null;
  /** Children that have not been added yet. */
  waiting: number;
  models: Map<string, Row>;
}

function parentOf<Row>(nodes: ReadonlyMap<string, Node<Row>>, node: Node<Row>): Node<Row> | undefined {
  return node.parent_id ? nodes.get(node.parent_id) : undefined;
}
