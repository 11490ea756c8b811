import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { isPageVisible, onPageVisibility } from "../data/page-visibility.js";
import { useRetry } from "../data/use-retry.js";
import { useSession } from "../session/session-context.js";
import { leaseSeconds, servicePort } from "./work/service-port.js";
import { tabItems } from "./work/tab-items.js";
import { Work } from "./work/work.js";

/** Well before a claim runs out. */
const renewMs = (leaseSeconds * 1000) / 3;

interface Of {
  projectId: string;
  queueId: string;
  userId: string;
  /** Where to begin; undefined for the next one. */
  itemId: string | undefined;
}

/** The work on a queue, from when the page is opened until it is left. */
export function useWork({ projectId, queueId, userId, itemId }: Of) {
  const session = useSession();
  const client = useQueryClient();
  const [work] = useState(
    () => new Work(servicePort(session, { projectId, queueId, userId }), Date.now, tabItems(queueId)),
  );
  const [begun] = useState(() => ({ itemId, is: false }));
  const state = useSyncExternalStore(work.subscribe, work.state);
  useEffect(() => {
    if (begun.is) void work.comeBack();
    else {
      begun.is = true;
      void work.begin(begun.itemId);
    }
    const renew = () => void work.renew();
    const leave = () => work.leave();
    const comeBack = ({ persisted }: PageTransitionEvent) => persisted && void work.comeBack();
    const timer = setInterval(renew, renewMs);
    const endWatch = onPageVisibility(() => isPageVisible() && renew());
    addEventListener("pagehide", leave);
    addEventListener("pageshow", comeBack);
    return () => {
      clearInterval(timer);
      endWatch();
      removeEventListener("pagehide", leave);
      removeEventListener("pageshow", comeBack);
      work.leave();
    };
  }, [work, begun]);
  const { writing, failed } = state;
  useEffect(() => {
    if (writing === 0) void client.invalidateQueries({ queryKey: ["queue-stats", projectId, queueId] });
  }, [client, projectId, queueId, writing]);
  useRetry(failed[0]?.error ?? state.error, () => (failed.length > 0 ? work.retry() : work.lookAgain()));
  const isUnsaved = writing > 0 || failed.length > 0;
  useEffect(() => {
    if (!isUnsaved) return undefined;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isUnsaved]);
  return { work, state };
}
