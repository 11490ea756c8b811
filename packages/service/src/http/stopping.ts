import type { HttpResponse } from "@heddle/server-stub";

/** Of a response to a request of which nothing was done: another replica may do it. */
const header = "heddle-stopping";
const body = JSON.stringify({ reason: "The service is stopping", detail: "The service is stopping" });

/** What a service responds while it stops. */
export const stopping = (): HttpResponse => ({
  status: 503,
  headers: { "content-type": "application/json", "retry-after": "5", connection: "close", [header]: "true" },
  body,
  drain: true,
});

export const isStopping = ({ status, headers }: HttpResponse): boolean => status === 503 && headers[header] === "true";
