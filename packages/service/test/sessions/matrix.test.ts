import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { emptyTenant } from "../isolation/tenants.js";
import type { Tenant } from "../isolation/tenants.js";
import { shareOf } from "../search-depth.js";
import { operations, toRequest } from "../spec-requests.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { elsewhere, foreignHost, samePage, sessionOf } from "./browser.js";
import type { Halves } from "./browser.js";

// operation × what of a session a request has × from where a browser says that it comes: what the spec gains is in here by
// itself.

let service: TestService;
let tenant: Tenant;
let key: string;
let foreignKey: string;
let own: Halves;
let foreign: Halves;
let revoked: Halves;
let ended: Halves;

beforeAll(async () => {
  service = await openTestService();
  tenant = emptyTenant(newProject());
  key = await service.key({ role: "admin" });
  foreignKey = await service.key({ role: "admin", entity: "rival" });
  own = await sessionOf(service, key);
  foreign = await sessionOf(service, foreignKey);
  const { keys, sessions } = service.services.control;
  const { key: gone, secret } = await keys.create({ user_name: "bob", entity: "acme", role: "admin" });
  revoked = await sessionOf(service, secret);
  await keys.revoke(gone.id);
  const other = await keys.create({ user_name: "cleo", entity: "acme", role: "admin" });
  ended = await sessionOf(service, other.secret);
  await sessions.endAll(other.key.id);
});
afterAll(() => service.close());

type Headers = Record<string, string>;
const headersOf = ({ token, cookie }: Partial<Halves>): Headers => ({
  ...(token !== undefined && { "x-heddle-session": token }),
  ...(cookie !== undefined && { cookie }),
});

/** What is not a session, and why. */
const invalid: Record<string, () => Headers> = {
  nothing: () => ({}),
  "the cookie only": () => headersOf({ cookie: own.cookie }),
  "the header only": () => headersOf({ token: own.token }),
  "halves of two sessions": () => headersOf({ token: own.token, cookie: foreign.cookie }),
  "a session that was ended": () => headersOf(ended),
  "a session whose key is revoked": () => headersOf(revoked),
  "the header before log-in, and a key that the browser keeps": () => ({
    "x-heddle-session": "none",
    authorization: `Basic ${btoa(`api:${key}`)}`,
  }),
};

const all = shareOf(operations, 3);
const isAboutSessions = (path: string): boolean => path.startsWith("/sessions");

describe.concurrent("from a page of the service", () => {
  test.each(all.filter((operation) => !operation.public))("$id", async (operation) => {
    const send = async (headers: Headers, whose = tenant) => {
      const response = await service.fetch(...toRequest(operation, whose.request(operation), headers));
      await response.text();
      return response;
    };
    for (const [name, halves] of Object.entries(invalid)) {
      const { status, headers } = await send({ ...samePage, ...halves() });
      expect([name, status, headers.get("www-authenticate")]).toEqual([name, 401, "Bearer"]);
    }
    // A session may what its key may. Ending one would change what follows.
    if (isAboutSessions(operation.path)) return;
    for (const [halves, secret] of [
      [own, key],
      [foreign, foreignKey],
    ] as const) {
      // Each in a project of its own, so that one does not find what another has made.
      const byKey = await send({ authorization: `Bearer ${secret}` }, emptyTenant(newProject()));
      const bySession = await send({ ...samePage, ...headersOf(halves) }, emptyTenant(newProject()));
      // Making and revoking keys needs the key itself.
      const needsKey = operation.id === "keyCreate" || operation.id === "keyRevoke";
      expect([operation.id, bySession.status]).toEqual([operation.id, needsKey ? 403 : byKey.status]);
    }
  });
});

describe.concurrent("from elsewhere", () => {
  test.each(all)("$id", async (operation) => {
    const send = async (headers: Headers) => {
      const response = await service.fetch(...toRequest(operation, tenant.request(operation), headers));
      await response.text();
      return response.status;
    };
    const isSafe = operation.method === "get";
    for (const [name, origin] of Object.entries(elsewhere)) {
      const withoutOrigin = origin["origin"] === undefined;
      expect([name, await send({ ...origin, ...headersOf(own) })]).toEqual([name, 403]);
      for (const halves of [{}, { cookie: own.cookie }]) {
        const status = await send({ ...origin, ...headersOf(halves) });
        if (!isSafe || isAboutSessions(operation.path))
          expect([name, withoutOrigin, status]).toEqual([name, withoutOrigin, 403]);
        else if (!operation.public) expect([name, status]).toEqual([name, 401]);
      }
    }
    expect(await send({ ...foreignHost, ...headersOf(own) })).toBe(421);
    if (isAboutSessions(operation.path)) expect(await send(foreignHost)).toBe(421);
    else if (!operation.public) expect(await send({ ...foreignHost, cookie: own.cookie })).toBe(401);
  });
});

test("none of it ended the sessions or broke the service", async () => {
  for (const halves of [own, foreign]) {
    const response = await service.fetch("http://in-process/me", { headers: { ...samePage, ...headersOf(halves) } });
    expect(response.status).toBe(200);
  }
  expect(service.unexpected).toEqual([]);
});
