import { once } from "node:events";
import { FairShare } from "@heddle/concurrency";
import type { ControlPlane, TrainingEventRecord, TrainingJobRecord } from "@heddle/control-plane";
import { currentSharer } from "../limits/request-scope.js";

const perKey = 20;
const perEntity = 100;
/** Streams of one process. */
const inAll = 200;
const pageSize = 100;
/** Without an event for so long, a comment is sent: proxies close connections that are silent. */
const commentMs = 15_000;
/** Events that another process stores, and the deletion of the job, are noticed so late. */
const lookAgainMs = 1000;

const streams = new FairShare({
  capacity: inAll,
  perKey,
  perEntity,
  timeoutMs: 1000,
  messages: {
    key: `This key follows the events of ${perKey} training jobs, which is its share`,
    entity: `This entity follows the events of ${perEntity} training jobs, which is its share`,
    all: `${inAll} clients follow the events of training jobs, and there are no more streams`,
  },
});

/** A comment of server-sent events. */
const comment = Buffer.from(":\n\n");

/**
 * The events of a job after one of them: those that are stored, and then each as it is stored, up to the last one of the
 * job. There is a comment at the beginning, by which clients know that they are connected, and when there is no event for
 * long, and the line with its id before each event. Throws `invalid` for an unknown event, and `rate_limited` or `busy` when there are too many such streams.
 */
export async function tailEvents(
  control: ControlPlane,
  job: TrainingJobRecord,
  { after, signal }: { after: string | undefined; signal: AbortSignal },
): Promise<AsyncGenerator<TrainingEventRecord | Buffer>> {
  const { trainingJobs } = control;
  const read = async (last: string | undefined) =>
    await trainingJobs.events.page({ job_id: job.id, limit: pageSize, ...(last !== undefined && { after: last }) });
  const release = await streams.acquire(currentSharer(), 1, signal);
  const stored = new EventTarget();
  let isStored = false;
  const unwatch = trainingJobs.events.watch(job.id, () => {
    isStored = true;
    stored.dispatchEvent(new Event("stored"));
  });
  const end = () => {
    unwatch();
    release();
  };
  // The stream of a client that has left is never read.
  signal.addEventListener("abort", end, { once: true });
  let first: TrainingEventRecord[];
  try {
    first = await read(after);
  } catch (error) {
    end();
    throw error;
  }
  return tail();

  async function* tail(): AsyncGenerator<TrainingEventRecord | Buffer> {
    try {
      yield comment;
      let sent = performance.now();
      let last = after;
      let isOver = hasEnded(job);
      for (let page = first; ; page = await read(last)) {
        for (const event of page) {
          yield Buffer.from(`id: ${event.id}\n`);
          yield event;
          sent = performance.now();
          if (event.type === "training_ended" || event.type === "training_failed") return;
          last = event.id;
        }
        if (page.length === pageSize) continue;
        if (isOver) return;
        if (performance.now() - sent >= commentMs) {
          yield comment;
          sent = performance.now();
        }
        if (!isStored) await nextEvent();
        isStored = false;
        const found = await trainingJobs.get(job.id);
        if (found === undefined) return;
        isOver = hasEnded(found);
      }
    } finally {
      end();
    }
  }

  async function nextEvent(): Promise<void> {
    const waiting = AbortSignal.any([signal, AbortSignal.timeout(lookAgainMs)]);
    await once(stored, "stored", { signal: waiting }).catch(() => signal.throwIfAborted());
  }
}

/** The last event of a job is stored with its end. */
const hasEnded = ({ state }: TrainingJobRecord): boolean => state !== "queued" && state !== "running";
