import { withTimeout } from "@heddle/concurrency";
import { reply } from "@heddle/server-stub";
import type { Schemas, TrainingHandlers } from "@heddle/server-stub/training";
import type { TrainingEngine } from "@heddle/training";
import { callerIfAny } from "../access/authenticate.js";
import { trainingKinds } from "../training-jobs/train.js";
import type { StoringPart } from "../operations/losses/loss-log.js";
import type { Caller, Services } from "../services.js";
import { wireUnavailable } from "../wire/training-model.js";

type Check = Schemas["QueueCheck"];
type SystemCheck = Schemas["SystemCheckRes"];

/** A part that does not respond within this time counts as failed. */
const timeoutMs = 3000;
/** Checks do real work and need no key, so their result is cached. */
const cacheMs = 2000;

/** The checks read a project that is never written to. */
const checkedProject = { entity: "heddle", name: "system-check" };

export function healthHandlers(services: Services): TrainingHandlers<Caller>["health"] {
  const { control, store, blobs, training } = services;
  let cached: { until: number; result: Promise<SystemCheck> } | undefined;

  async function check(): Promise<SystemCheck> {
    const [database, traces, files, queue, engine, lost] = await Promise.all([
      timed(() => control.projects.get(checkedProject.entity, checkedProject.name)),
      timed(() => readsAndWrites(store)),
      timed(() => blobs.check()),
      timed(() => control.jobs.msToNextDue({ kinds: Object.values(trainingKinds), lease_us: 0n })),
      timed(() => engineState(training)),
      whatIsLost(services),
    ]);
    return {
      api: true,
      database: database.success,
      cpu_queue: queueCheck(traces),
      gpu_queue: queueCheck(!queue.success ? queue : withHealth(engine)),
      parts: {
        traces: partOf(traces, lost.traces),
        control_plane: partOf(database, lost.control_plane),
        blobs: partOf(files, lost.blobs),
        trainer: enginePart(engine, "training"),
        sampler: enginePart(engine, "sampling"),
      },
      unavailable_models: (engine.value?.unavailableModels ?? []).map(wireUnavailable),
    };
  }

  return {
    async getHealth() {
      return { status: "ok" };
    },

    async getSystemCheck() {
      const now = performance.now();
      if (cached === undefined || cached.until < now) cached = { until: now + cacheMs, result: check() };
      // The state of a part that knows the keys is also shown when it does not respond.
      const [result, caller] = await Promise.all([cached.result, callerIfAny(services).catch(() => undefined)]);
      const failed = Object.values(result.parts).some(({ status }) => status === "failed");
      return reply(failed ? 503 : 200, caller === undefined ? withoutDetails(result) : result);
    },
  };
}

/** The state of what trains and samples. */
async function engineState(training: TrainingEngine) {
  const [health, capabilities] = await Promise.all([training.health(), training.capabilities()]);
  return { health, ...capabilities };
}

type EngineCheck = Check & { value?: Awaited<ReturnType<typeof engineState>> };

function withHealth({ value, ...check }: EngineCheck): Check {
  if (value === undefined || value.health.ok) return check;
  return { ...check, success: false, error: value.health.detail ?? "the engine does not work" };
}

/** One side of the engine; it is absent where no model can be used for it. */
function enginePart(engine: EngineCheck, what: "training" | "sampling"): Schemas["PartCheck"] {
  const { value, duration } = engine;
  if (value !== undefined && !value.models.some((model) => model[what] !== undefined)) {
    const error = value.health.detail ?? `there is no model for ${what}`;
    return { status: "absent", latency: duration, error, lost: [] };
  }
  return partOf(withHealth(engine), []);
}

const queueCheck = ({ success, duration, error }: Check): Check => ({ success, duration, error });

function partOf({ success, duration, error }: Check, lost: string[]): Schemas["PartCheck"] {
  const status = !success ? "failed" : lost.length > 0 ? "degraded" : "ok";
  return { status, latency: duration, error, lost: lost.slice(0, mostLost) };
}

const mostLost = 100;

/** The state alone: reasons may name hosts. */
function withoutDetails({ parts, cpu_queue, gpu_queue, ...result }: SystemCheck): SystemCheck {
  const hidden = <Part extends { error: string | null }>(part: Part): Part =>
    part.error === null ? part : { ...part, error: "the reason is shown to requests with an API key" };
  const states = Object.entries(parts).map(([name, part]) => [name, { ...hidden(part), lost: [] }]);
  return {
    ...result,
    unavailable_models: [],
    cpu_queue: hidden(cpu_queue),
    gpu_queue: hidden(gpu_queue),
    parts: Object.fromEntries(states) as typeof parts,
  };
}

/** Losses that were noticed, and parts of tables that the engine put aside and nobody has removed. */
async function whatIsLost({ store, losses }: Services): Promise<Record<StoringPart, string[]>> {
  const lost: Record<StoringPart, string[]> = { traces: [], control_plane: [], blobs: [] };
  for (const loss of losses.list()) lost[loss.part].push(loss.lost);
  // An engine that does not respond is reported by its own check.
  const broken = await timed(() => store.brokenParts());
  for (const { table, parts } of broken.value ?? []) {
    lost.traces.push(
      `The table ${table} lacks the rows of ${parts} part(s) that are corrupt, unless a power loss cut them short`,
    );
  }
  return lost;
}

async function readsAndWrites(store: Services["store"]): Promise<void> {
  const projectId = `${checkedProject.entity}/${checkedProject.name}`;
  await Promise.all([store.calls.count({ project_id: projectId, limit: 1 }), store.checkWrites()]);
}

async function timed<T>(task: () => Promise<T>): Promise<Check & { value?: T }> {
  const started = performance.now();
  const tooLong = () => new Error(`no response within ${timeoutMs / 1000} s`);
  try {
    const value = await withTimeout(task(), timeoutMs, tooLong);
    return { success: true, duration: seconds(started), error: null, value };
  } catch (error) {
    return {
      success: false,
      duration: seconds(started),
      error: error instanceof Error ? error.message : String(error),
    };
  }
}

const seconds = (started: number): number => (performance.now() - started) / 1000;
