import { createContext, use, useSyncExternalStore } from "react";
import type { BrowserSession, SessionState } from "./session.js";

export const SessionContext = createContext<BrowserSession | undefined>(undefined);

export function useSession(): BrowserSession {
  const session = use(SessionContext);
  if (session === undefined) throw new Error("no session around");
  return session;
}

export function useSessionState(): SessionState {
  const { subscribe, state } = useSession();
  return useSyncExternalStore(subscribe, state);
}
