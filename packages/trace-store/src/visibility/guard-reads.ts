import type { InFlight } from "../stored-calls/in-flight.js";

/** Makes readers look for calls, also for running, deleted and renamed ones, while another process may have written. */
export function guardReads(inFlight: InFlight, mayWrite: () => boolean): InFlight {
  return {
    closing: (projectId) => inFlight.closing(projectId),
    watchEnds: (projectId) => {
      const watch = mayWrite() ? inFlight.watchEnds(projectId) : undefined;
      return watch && { stop: () => watch.stop() || !mayWrite() };
    },
    mayRun: (projectId, which) => !mayWrite() || inFlight.mayRun(projectId, which),
    running: (projectId) => (mayWrite() ? inFlight.running(projectId) : undefined),
    runningStarts: (projectId) => (mayWrite() ? inFlight.runningStarts(projectId) : undefined),
    startedAt: (call) => (mayWrite() ? inFlight.startedAt(call) : undefined),
    kept: (call) => (mayWrite() ? inFlight.kept(call) : undefined),
    newest: (projectId) => (mayWrite() ? inFlight.newest(projectId) : undefined),
    keptOfTrace: (projectId, traceId) => (mayWrite() ? inFlight.keptOfTrace(projectId, traceId) : []),
    readBack: (projectId) => {
      const reading = mayWrite() ? inFlight.readBack(projectId) : undefined;
      return (
        reading && {
          ...reading,
          next: () => (mayWrite() ? reading.next() : undefined),
          add: (calls, after) => mayWrite() && reading.add(calls, after),
        }
      );
    },
    hidden: (projectId) => (mayWrite() ? inFlight.hidden(projectId) : undefined),
    hasNames: (projectId) => !mayWrite() || inFlight.hasNames(projectId),
    mostRows: () => inFlight.mostRows(),
    indexedUpTo: () => inFlight.indexedUpTo(),
    retentionUs: (projectId) => inFlight.retentionUs(projectId),
  };
}
