import { HeddleApiError } from "@heddle/client/tracing";
import { consoleUrl } from "./service-url.js";
import type { BrowserSession } from "./session.js";

/**
 * Uses the code of a link such as `…/console/login#<code>`, and takes it out of the address first: it is valid once, and
 * histories keep addresses. Returns why it did not log in.
 */
export async function logInByLink(session: BrowserSession): Promise<string | undefined> {
  const code = location.hash.slice(1);
  const { pathname } = new URL("login", consoleUrl());
  if (location.pathname !== pathname || code === "") return undefined;
  history.replaceState(history.state, "", pathname);
  try {
    await session.logIn({ code });
    return undefined;
  } catch (error) {
    if (session.state().status === "in") return undefined;
    if (!(error instanceof HeddleApiError) || error.status === 0) return "The service does not respond.";
    if (error.status !== 401) return error.reason;
    return "The link was used before, or is older than ten minutes. “heddle open” prints a new one.";
  }
}
