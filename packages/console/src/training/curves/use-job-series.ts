import { tailTrainingJobEvents } from "@heddle/client/training";
import { useEffect, useState } from "react";
import { takeTail } from "../../data/tails.js";
import { useSession, useSessionState } from "../../session/session-context.js";
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

/** The curves of a job: of the events that are stored, then of each one as it comes. */
export function useJobSeries(jobId: string): State {
  const session = useSession();
  const { logIns } = useSessionState();
  const [state, setState] = useState<State>(() => ({ jobId, series: new JobSeries(), version: 0 }));
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const series = new JobSeries();
    let version = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const paint = (error?: unknown) => {
      clearTimeout(timer);
      timer = undefined;
      version++;
      setState({ jobId, series, version, ...(error !== undefined && { error }) });
    };
    let last: string | undefined;
    const follow = async () => {
      const release = await takeTail();
      // Where other pages of the browser have all connections that may stay open, what there is is read, now and then.
      const end = release === undefined ? AbortSignal.timeout(againMs) : undefined;
      try {
        signal.throwIfAborted();
        const of = { training_job_id: jobId, ...(last !== undefined && { "Last-Event-ID": last }) };
        for await (const event of tailTrainingJobEvents(session.training, of, {
          signal: end === undefined ? signal : AbortSignal.any([signal, end]),
        })) {
          series.add(event);
          last = event.id;
          timer ??= setTimeout(paint, paintMs);
        }
        paint();
      } catch (error) {
        if (signal.aborted) return;
        paint(end?.aborted === true ? undefined : error);
        timer = setTimeout(() => void follow(), againMs);
      } finally {
        release?.();
      }
    };
    void follow();
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [session, jobId, logIns]);
  return state.jobId === jobId ? state : { jobId, series: new JobSeries(), version: 0 };
}
