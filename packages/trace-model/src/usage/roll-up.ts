import { emptyUsage } from "./usage.js";
import type { UsageRow } from "./usage.js";

/**
 * Usage of every call plus that of its descendants among the given calls, by model. Nothing is deduplicated: a client
 * that already added its children's usage to its own is counted again. Calls whose parents form a circle keep their
 * own.
 */
export function rollUpUsage(
  calls: Iterable<{ id: string; parent_id?: string | null; usage: readonly UsageRow[] }>,
): Map<string, UsageRow[]> {
  const nodes = new Map<string, Node>();
  for (const { id, parent_id, usage } of calls) {
    nodes.set(id, { parent_id, waiting: 0, models: new Map(usage.map((row) => [row.model, row])) });
  }
  for (const node of nodes.values()) {
    const parent = parentOf(nodes, node);
    if (parent) parent.waiting++;
  }
  const ready = [...nodes.values()].filter((node) => node.waiting === 0);
  for (let node = ready.pop(); node; node = ready.pop()) {
    const parent = parentOf(nodes, node);
    if (!parent) continue;
    addAll(parent.models, node.models);
    if (--parent.waiting === 0) ready.push(parent);
  }
  return new Map([...nodes].map(([id, node]) => [id, [...node.models.values()]]));
}

interface Node {
  parent_id?: string | null;
  /** Children that have not been added yet. */
  waiting: number;
  models: Map<string, UsageRow>;
}

function parentOf(nodes: ReadonlyMap<string, Node>, node: Node): Node | undefined {
  return node.parent_id ? nodes.get(node.parent_id) : undefined;
}

function addAll(into: Map<string, UsageRow>, from: ReadonlyMap<string, UsageRow>): void {
  for (const [model, row] of from) {
    const sum = into.get(model) ?? emptyUsage(model);
    into.set(model, {
      model,
      requests: sum.requests + row.requests,
      prompt_tokens: sum.prompt_tokens + row.prompt_tokens,
      completion_tokens: sum.completion_tokens + row.completion_tokens,
      total_tokens: sum.total_tokens + row.total_tokens,
      cache_read_tokens: sum.cache_read_tokens + row.cache_read_tokens,
      cache_creation_tokens: sum.cache_creation_tokens + row.cache_creation_tokens,
    });
  }
}
