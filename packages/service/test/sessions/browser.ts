import type { TestService } from "../test-service.js";

/** The address of the service in the browser of the tests. */
export const host = "127.0.0.1:4680";

/** The two halves of a session. */
export interface Halves {
  token: string;
  cookie: string;
}

/** Headers that a browser sends with what a page of the service fetches. */
export const samePage = {
  host,
  origin: `http://${host}`,
  "sec-fetch-site": "same-origin",
  "sec-fetch-mode": "cors",
};

/** What browsers send for pages of others, and for names that are pointed at the service. */
export const elsewhere: Record<string, Record<string, string>> = {
  "another port": { host, origin: "http://127.0.0.1:9999", "sec-fetch-site": "same-site" },
  "another port, without metadata": { host, origin: "http://127.0.0.1:9999" },
  "another site": { host, origin: "https://evil.example", "sec-fetch-site": "cross-site" },
  "another site, without an origin": { host, "sec-fetch-site": "cross-site" },
  "the origin null": { host, origin: "null" },
};
export const foreignHost = { host: "evil.example", origin: "http://evil.example", "sec-fetch-site": "same-origin" };

/** Logs in as a page of the service does. */
export async function logIn(
  service: Pick<TestService, "fetch">,
  body: object,
  headers: Record<string, string> = samePage,
): Promise<Response> {
  const init = { method: "POST", body: JSON.stringify(body), headers };
  return await service.fetch("http://in-process/sessions", init);
}

/** Begins a session of a key. */
export async function sessionOf(
  service: Pick<TestService, "fetch">,
  apiKey: string,
  headers: Record<string, string> = samePage,
): Promise<Halves> {
  const response = await logIn(service, { api_key: apiKey }, headers);
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  const { token } = (await response.json()) as { token: string };
  return { token, cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "" };
}

/** Both halves as headers. */
export const withSession = ({ token, cookie }: Halves): Record<string, string> => ({
  ...samePage,
  cookie,
  "x-heddle-session": token,
});
