import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { useKeyboard } from "./commands/use-commands.js";
import { storedLetters } from "./commands/letters.js";
import { createQueryClient } from "./data/query-client.js";
import { router } from "./routes.js";
import { logInByLink } from "./session/log-in-by-link.js";
import { LogInScreen } from "./session/log-in-screen.js";
import { BrowserSession } from "./session/session.js";
import { SessionContext, useSessionState } from "./session/session-context.js";
import "./ui/base.css";

function App({ problem }: { problem: string | undefined }) {
  const { status } = useSessionState();
  const keyboard = useKeyboard();
  useEffect(() => {
    keyboard.setLetters(storedLetters());
    document.addEventListener("keydown", keyboard.handle);
    return () => document.removeEventListener("keydown", keyboard.handle);
  }, [keyboard]);
  // At any address: after the log-in it is the page.
  return status === "out" ? <LogInScreen problem={problem} /> : <RouterProvider router={router} />;
}

const session = new BrowserSession();
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
