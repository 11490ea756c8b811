import { tailTrainingJobEvents } from "@heddle/client/training";
import { useEffect, useRef, useState } from "react";
import { isNotFound } from "../../data/is-not-found.js";
import { takeTail } from "../../data/tails.js";
import { useSession, useSessionState } from "../../session/session-context.js";
import { useIsVisible } from "../../ui/use-is-visible.js";
import { JobSeries } from "./series.js";

/** Events between two paintings are painted together. */
const paintMs = 100;
/** Until a stream that broke is asked for again. */
const againMs = 3000;

interface State {
  jobId: string;
  series: JobSeries;
  /** Changes with each painting. */
  version: number;
  error?: unknown;
}

/** What was read of a job, from which following it goes on. */
interface Followed {
  jobId: string;
  series: JobSeries;
  version: number;
  last: string | undefined;
  isWhole: boolean;
}

/**
 * The curves of a job: of the events that are stored, then of each one as it comes. A page that nobody sees leaves its connection
 * to others; seen again it has what came meanwhile.
 */
export function useJobSeries(jobId: string): State {
  const session = useSession();
  const { logIns } = useSessionState();
  const isVisible = useIsVisible();
  const followed = useRef<Followed>(undefined);
  const [state, setState] = useState<State>(() => ({ jobId, series: new JobSeries(), version: 0 }));
  useEffect(() => {
    if (!isVisible) return undefined;
    if (followed.current?.jobId !== jobId)
      followed.current = { jobId, series: new JobSeries(), version: 0, last: undefined, isWhole: false };
    const of = followed.current;
    const controller = new AbortController();
    const { signal } = controller;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const paint = (error?: unknown) => {
      clearTimeout(timer);
      timer = undefined;
      of.version++;
      const { series, version } = of;
      setState({ jobId, series, version, ...(error !== undefined && { error }) });
    };
    const follow = async () => {
      const release = await takeTail();
      // Where other pages of the browser have all connections that may stay open, what there is is read, now and then.
      const end = release === undefined ? AbortSignal.timeout(againMs) : undefined;
      try {
        signal.throwIfAborted();
        const request = { training_job_id: jobId, ...(of.last !== undefined && { "Last-Event-ID": of.last }) };
        for await (const event of tailTrainingJobEvents(session.training, request, {
          signal: end === undefined ? signal : AbortSignal.any([signal, end]),
        })) {
          of.series.add(event);
          of.last = event.id;
          timer ??= setTimeout(paint, paintMs);
        }
        of.isWhole = true;
        paint();
      } catch (error) {
        if (signal.aborted) return;
        paint(end?.aborted === true ? undefined : error);
        // Of a job that is gone nothing comes any more.
        if (!isNotFound(error)) timer = setTimeout(() => void follow(), againMs);
      } finally {
        release?.();
      }
    };
    // What came last before the page was hidden may not have been painted.
    if (of.version > 0) paint();
    if (!of.isWhole) void follow();
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [session, jobId, logIns, isVisible]);
  return state.jobId === jobId ? state : { jobId, series: new JobSeries(), version: 0 };
}
