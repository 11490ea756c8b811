import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "./router/routing.js";
import { lazy, StrictMode, Suspense, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { useKeyboard } from "./commands/use-commands.js";
import { storedLetters } from "./commands/letters.js";
import { createQueryClient } from "./data/query-client.js";
import { pageRouter } from "./routes.js";
import { Shell } from "./shell/shell.js";
import { logInByLink } from "./session/log-in-by-link.js";
import { consoleUrl } from "./session/service-url.js";
import { LogInScreen } from "./session/log-in-screen.js";
import { BrowserSession } from "./session/session.js";
import { SessionContext, useSessionState } from "./session/session-context.js";
import { sharedTraceOf } from "./share/shared-trace.js";
import "./ui/base.css";

function App({ problem }: { problem: string | undefined }) {
  const { status } = useSessionState();
  const keyboard = useKeyboard();
  useEffect(() => {
    keyboard.setLetters(storedLetters());
    document.addEventListener("keydown", keyboard.handle);
    return () => document.removeEventListener("keydown", keyboard.handle);
  }, [keyboard]);
  // At any other address: after the log-in it is the page.
  if (shared !== undefined) {
    return (
      <Suspense>
        <SharePage shared={shared} />
      </Suspense>
    );
  }
  return status === "out" ? <LogInScreen problem={problem} /> : <Console />;
}

function Console() {
  return (
    <RouterProvider router={pageRouter()}>
      <Shell />
    </RouterProvider>
  );
}

const SharePage = lazy(async () => ({ default: (await import("./share/share-page.js")).SharePage }));
const shared = sharedTraceOf(new URL(location.href), consoleUrl());
const session = new BrowserSession(shared?.token);
const problem = await logInByLink(session);
createRoot(document.querySelector("#root") as HTMLElement).render(
  <StrictMode>
    <SessionContext value={session}>
      <QueryClientProvider client={createQueryClient(session)}>
        <App problem={problem} />
      </QueryClientProvider>
    </SessionContext>
  </StrictMode>,
);
