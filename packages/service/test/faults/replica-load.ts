import { setTimeout as delay } from "node:timers/promises";
import { batchOf } from "./batch-of.js";
import { ownerKey } from "./heddle-process.js";

/** As the header of a 503 of a replica says. */
const retryAfterMs = 1000;
const clientsOfEach = 3;
const headers = { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" };

/**
 * Clients that write without end, each in one project and to the next replica, and send once more what got a 503, when it
 * says.
 */
export class ReplicaLoad {
  /** What got neither time a 200. */
  readonly failures: string[] = [];
  readonly #acknowledged = new Map<string, string[]>();
  /** Between two responses of 200 in a project, by the monotonic clock. */
  readonly #pauses = new Map<string, { last: number; longest: number }>();
  #isEnding = false;
  #countedFrom = 0;
  readonly #clients: Promise<void>[];

  constructor(projects: readonly string[], urls: () => string[]) {
    for (const project of projects) {
      this.#acknowledged.set(project, []);
      this.#pauses.set(project, { last: performance.now(), longest: 0 });
    }
    this.#clients = Array.from({ length: clientsOfEach * projects.length }, async (_, client) => {
      const project = projects[client % projects.length]!;
      for (let i = 0; !this.#isEnding; i++) {
        const id = `${project}-${client}-${i}`;
        const statuses: (number | string)[] = [];
        for (let attempt = 0; attempt < 2 && statuses.at(-1) !== 200; attempt++) {
          if (attempt > 0) await delay(retryAfterMs);
          const all = urls();
          const url = all[(client + i + attempt) % all.length]!;
          statuses.push(await write(url, project, id).catch((error: unknown) => String(error)));
        }
        if (statuses.at(-1) === 200) this.#note(project, id);
        else this.failures.push(`${id}: ${statuses.join(", ")}`);
        await delay(5);
      }
    });
  }

  acknowledged(project: string): string[] {
    return this.#acknowledged.get(project) ?? [];
  }

  /** Since the first call of this. */
  acknowledgedNow(): number {
    const all = [...this.#acknowledged.values()].reduce((sum, { length }) => sum + length, 0);
    this.#countedFrom ||= all;
    return all - this.#countedFrom;
  }

  /** Milliseconds of the longest pause of a project since the last call of this. */
  longestPause(project: string): number {
    const pause = this.#pauses.get(project);
    if (pause === undefined) return 0;
    const { longest } = pause;
    pause.longest = 0;
    return Math.round(longest);
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#clients);
  }

  #note(project: string, id: string): void {
    this.#acknowledged.get(project)?.push(id);
    const pause = this.#pauses.get(project);
    if (pause === undefined) return;
    const now = performance.now();
    pause.longest = Math.max(pause.longest, now - pause.last);
    pause.last = now;
  }
}

async function write(url: string, project: string, id: string): Promise<number> {
  const body = JSON.stringify(batchOf(project, id));
  const response = await fetch(`${url}/call/upsert_batch`, { method: "POST", headers, body });
  await response.text();
  return response.status;
}
