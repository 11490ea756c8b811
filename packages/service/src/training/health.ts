import { reply } from "@heddle/server-stub";
import type { Schemas, TrainingHandlers } from "@heddle/server-stub/training";
import type { Caller, Services } from "../services.js";

type Check = Schemas["QueueCheck"];

/** A part that does not respond within this time counts as failed. */
const timeoutMs = 3000;
/** Checks do real work and need no key, so their result is cached. */
const cacheMs = 2000;

/** The checks read a project that is never written to. */
const checkedProject = { entity: "heddle", name: "system-check" };

export function healthHandlers({ control, store }: Services): TrainingHandlers<Caller>["health"] {
  let cached: { until: number; result: Promise<Schemas["SystemCheckRes"]> } | undefined;

  async function check(): Promise<Schemas["SystemCheckRes"]> {
    const [database, cpuQueue] = await Promise.all([
      timed(() => control.projects.get(checkedProject.entity, checkedProject.name)),
      timed(() => readsAndWrites(store)),
    ]);
    const gpuQueue = { success: false, duration: 0, error: "this version has no training engine" };
    return { api: true, database: database.success, cpu_queue: cpuQueue, gpu_queue: gpuQueue };
  }

  return {
    async getHealth() {
      return { status: "ok" };
    },

    async getSystemCheck() {
      const now = performance.now();
      if (cached === undefined || cached.until < now) cached = { until: now + cacheMs, result: check() };
      const result = await cached.result;
      // Only parts that this version has can fail the check.
      return reply(result.database && result.cpu_queue.success ? 200 : 503, result);
    },
  };
}

async function readsAndWrites(store: Services["store"]): Promise<void> {
  const projectId = `${checkedProject.entity}/${checkedProject.name}`;
  await Promise.all([store.calls.count({ project_id: projectId, limit: 1 }), store.checkWrites()]);
}

async function timed(task: () => Promise<unknown>): Promise<Check> {
  const started = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs / 1000} s`)), timeoutMs);
  });
  try {
    await Promise.race([task(), tooLong]);
    return { success: true, duration: seconds(started), error: null };
  } catch (error) {
    return {
      success: false,
      duration: seconds(started),
      error: error instanceof Error ? error.message : String(error),
    };
  } finally {
    clearTimeout(timer);
  }
}

const seconds = (started: number): number => (performance.now() - started) / 1000;
