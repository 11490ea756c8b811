import { once } from "node:events";
import { request } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { createTracingClient, HeddleApiError } from "@heddle/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operations } from "../spec-requests.js";
import { pageFetch } from "../page-fetch.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

const friend = "https://app.example.com";
const foreign = "https://evil.example";

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService({ HEDDLE_CORS_ORIGINS: friend });
  url = await service.listen();
});
afterAll(() => service.close());

interface Sent {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Sends exactly these headers, which `fetch` does not. */
async function send(method: string, path: string, headers: Record<string, string>, body = ""): Promise<Sent> {
  const outgoing = request(`${url}${path}`, { method, headers, agent: false }).end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
  return { status: response.statusCode, headers: response.headers, text };
}

/** What a browser sends for a form or a simple `fetch` of a page: with the credentials that it has cached. */
const fromPage = (headers: Record<string, string>) => ({
  authorization: `Basic ${btoa(`api:${service.owner_key}`)}`,
  "content-type": "text/plain",
  ...headers,
});

async function storedCall(projectId: string): Promise<string> {
  const start = { project_id: projectId, op_name: "f", started_at: "2026-01-01T00:00:00Z", attributes: {}, inputs: {} };
  return (await service.tracing().callStart({ start })).id;
}

describe("a page of another origin, in the browser of someone who uses the service,", () => {
  test.each([
    ["another site", { origin: foreign, "sec-fetch-site": "cross-site" }],
    ["another port of this machine", { origin: "http://localhost:3000", "sec-fetch-site": "same-site" }],
    ["a browser that sends no Sec-Fetch-Site", { origin: foreign }],
    ["a page without an origin", { origin: "null" }],
    ["a form that sends no Origin", { "sec-fetch-site": "cross-site" }],
    ["a name that contains an allowed one", { origin: `${friend}.evil.example` }],
  ])("cannot delete calls with cached credentials: %s", async (_, headers) => {
    const projectId = newProject();
    const id = await storedCall(projectId);
    const body = JSON.stringify({ project_id: projectId, call_ids: [id] });
    const { status, text } = await send("POST", "/calls/delete", fromPage(headers), body);
    expect({ status, text }).toEqual({ status: 403, text: expect.stringContaining("HEDDLE_CORS_ORIGINS") });
    expect((await service.tracing().callRead({ project_id: projectId, id })).call?.id).toBe(id);
  });

  test("can send no request of an operation that may change something, and gets no preflight", async () => {
    const headers = fromPage({ origin: foreign, "sec-fetch-site": "cross-site" });
    const changing = operations.filter(({ method }) => !["get", "GET"].includes(method));
    expect(changing.length).toBeGreaterThan(50);
    const statuses = await Promise.all(
      [...changing.map(({ method, path }) => [method, path] as const), ["POST", "/graphql"] as const].map(
        async ([method, path]) => (await send(method.toUpperCase(), path.replaceAll(/[{}]/g, ""), headers)).status,
      ),
    );
    expect(new Set(statuses)).toEqual(new Set([403]));
    const asked = { origin: foreign, "access-control-request-method": "POST" };
    const refused = await send("OPTIONS", "/calls/delete", asked);
    expect(refused.status).toBe(403);
    expect(refused.headers).not.toHaveProperty("access-control-allow-origin");
  });

  test("can read nothing", async () => {
    const { headers } = await send("GET", "/version", { origin: foreign, "sec-fetch-site": "cross-site" });
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
    expect(String(headers.vary).split(", ")).toContain("origin");
  });
});

test("the service's own pages and programs that are not browsers send what they like", async () => {
  const projectId = newProject();
  const body = JSON.stringify({ project_id: projectId, call_ids: [] });
  const allowed: Record<string, string>[] = [
    {},
    { origin: url },
    { origin: "https://heddle.example.com", "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "none" },
  ];
  for (const headers of allowed) {
    expect((await send("POST", "/calls/delete", fromPage(headers), body)).status).toBe(200);
  }
});

describe("a page of an allowed origin", () => {
  test("gets the response to its preflight without a key, for exactly what it asked", async () => {
    const { status, headers, text } = await send("OPTIONS", "/call/start", {
      origin: friend,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type,x-weave-retry-id",
    });
    expect({ status, text }).toEqual({ status: 204, text: "" });
    expect(headers).toMatchObject({
      "access-control-allow-origin": friend,
      "access-control-allow-headers": "authorization,content-type,x-weave-retry-id",
      "access-control-allow-methods": expect.stringContaining("DELETE"),
      "access-control-max-age": "600",
      vary: "origin",
    });
    expect(headers).not.toHaveProperty("access-control-allow-credentials");
  });

  const client = (origin: string, apiKey = service.owner_key) =>
    createTracingClient({ baseUrl: url, apiKey, retries: 0, fetch: pageFetch(origin) });

  test("uses the client: calls, streams, files, and errors with their reason", async () => {
    const page = client(friend);
    const projectId = newProject();
    const start = {
      project_id: projectId,
      op_name: "f",
      started_at: "2026-01-01T00:00:00Z",
      attributes: {},
      inputs: {},
    };
    const { id } = await page.callStart({ start });
    const listed = [];
    for await (const call of page.callsQueryStream({ project_id: projectId })) listed.push(call.id);
    expect(listed).toEqual([id]);
    const { digest } = await page.fileCreate({ project_id: projectId, file: new Blob(["hello"]) });
    expect(new TextDecoder().decode(await page.fileContent({ project_id: projectId, digest }))).toBe("hello");
    const wrong = page.objRead({ project_id: projectId, object_id: "none", digest: "latest" });
    await expect(wrong).rejects.toMatchObject({ status: 404, reason: expect.stringContaining("none") });
    await expect(client(friend, "x".repeat(40)).callRead({ project_id: projectId, id })).rejects.toMatchObject({
      status: 401,
    });
  });

  test("and no other page can, with a key of its own", async () => {
    const error: unknown = await client(foreign)
      .callRead({ project_id: newProject(), id: "x" })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(HeddleApiError);
    expect(error).toMatchObject({ status: 0, cause: expect.any(TypeError) });
  });
});
