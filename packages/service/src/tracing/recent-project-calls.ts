import type { ProjectCalls, TraceStore } from "@heddle/trace-store";

const keptMs = 5000;
const kept = 10_000;

/** Counts of calls that may be five seconds old. */
export class RecentProjectCalls {
  readonly #store: Pick<TraceStore, "projectCalls">;
  readonly #known = new Map<string, { calls: ProjectCalls; at: number }>();

  constructor(store: Pick<TraceStore, "projectCalls">) {
    this.#store = store;
  }

  async of(projectIds: readonly string[], signal: AbortSignal): Promise<Map<string, ProjectCalls>> {
    const at = performance.now();
    const found = new Map<string, ProjectCalls>();
    for (const id of projectIds) {
      const known = this.#known.get(id);
      if (known !== undefined && at - known.at < keptMs) found.set(id, known.calls);
    }
    const missing = projectIds.filter((id) => !found.has(id));
    const counted = await this.#store.projectCalls(missing, { signal });
    if (this.#known.size + missing.length > kept) this.#known.clear();
    for (const [index, calls] of counted.entries()) {
      const id = missing[index] ?? "";
      found.set(id, calls);
      this.#known.set(id, { calls, at });
    }
    return found;
  }
}
