import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
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
  const [tabs] = useState(() => tabItems(queueId));
  const [work] = useState(() => new Work(servicePort(session, { projectId, queueId, userId }), Date.now, tabs));
  const [begun] = useState(() => ({ itemId, is: false }));
  const state = useSyncExternalStore(work.subscribe, work.state);
  useEffect(() => {
    if (!begun.is) {
      begun.is = true;
      void work.begin(begun.itemId);
    }
    const renew = () => void work.renew();
    const onShown = () => document.visibilityState === "visible" && renew();
    const timer = setInterval(renew, renewMs);
    document.addEventListener("visibilitychange", onShown);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", onShown);
      tabs.leave();
    };
  }, [work, begun, tabs]);
  const { writing, failed } = state;
  useEffect(() => {
    if (writing === 0) void client.invalidateQueries({ queryKey: ["queue-stats", projectId, queueId] });
  }, [client, projectId, queueId, writing]);
  const isUnsaved = writing > 0 || failed.length > 0;
  useEffect(() => {
    if (!isUnsaved) return undefined;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isUnsaved]);
  return { work, state };
}
