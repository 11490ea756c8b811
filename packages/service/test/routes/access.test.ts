import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routes } from "../../src/boot/routes.js";
import { secret } from "../isolation/tenants.js";
import { elsewhere, foreignHost, samePage, sessionOf } from "../sessions/browser.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { reasonOf } from "./error-shapes.js";
import { allSamples, requestOf, routeSamples } from "./route-samples.js";
import type { RouteSample } from "./route-samples.js";
import { missingTenant, routeTenant, withoutTenant } from "./route-tenants.js";
import type { RouteTenant } from "./route-tenants.js";

// Routes × keys × whose names: what the registry gains is in here by itself.

let service: TestService;
const tenants = {} as Record<"own" | "foreign" | "missing", RouteTenant>;
const keys = {} as Record<
  "none" | "wrong" | "revoked" | "read" | "write" | "admin" | "other project" | "other entity",
  string | undefined
>;

beforeAll(async () => {
  service = await openTestService({}, { everyRoute: true });
  const { control } = service.services;
  const newKey = async (role: "read" | "write" | "admin", more: object = {}) =>
    await control.keys.create({ user_name: "alice", entity: "acme", role, ...more });
  const writer = await newKey("write");
  const rival = await newKey("write", { entity: "rival" });
  const { key, secret: revoked } = await newKey("write");
  await control.keys.revoke(key.id);
  tenants.own = await routeTenant(service, newProject(), writer.key.id);
  tenants.foreign = await routeTenant(service, newProject("rival"), rival.key.id);
  tenants.missing = missingTenant(newProject("rival"), rival.key.id);
  Object.assign(keys, {
    none: undefined,
    wrong: "w".repeat(40),
    revoked,
    read: (await newKey("read")).secret,
    write: writer.secret,
    admin: (await newKey("admin")).secret,
    "other project": (await newKey("admin", { projects: ["elsewhere"] })).secret,
    "other entity": (await newKey("admin", { entity: "other" })).secret,
  });
});
afterAll(() => service.close());

async function send(sample: RouteSample, key?: string, headers: Record<string, string> = {}) {
  const response = await service.fetch(...requestOf(sample, key, headers));
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Whether a response says that it did what was asked for, or is the error that every key with the right gets. */
const succeeded = (sample: RouteSample, { status, text }: { status: number; text: string }) =>
  (sample.status === undefined ? status < 400 : status === sample.status) && !text.startsWith('{"errors"');

const names = Object.keys(routes) as (keyof typeof routes)[];
const keyed = names.filter((name) => typeof routes[name].access !== "string");
const samplesOf = (name: keyof typeof routes, tenant: RouteTenant) => routeSamples[name](tenant, service);

describe("a request without a key that is known", () => {
  test.each(keyed)("of %s is 401, whatever it asks for", async (name) => {
    for (const whose of ["own", "foreign", "missing"] as const) {
      for (const sample of samplesOf(name, tenants[whose])) {
        for (const key of ["none", "wrong", "revoked"] as const) {
          const { status, headers, text } = await send(sample, keys[key]);
          expect([sample.name, key, status]).toEqual([sample.name, key, 401]);
          expect(headers.get("www-authenticate")).toMatch(/^Basic/);
          expect(reasonOf(name, status, text)).toMatch(/key/);
        }
      }
    }
  });
});

describe("a method that a route does not have", () => {
  test.each(names)("is 405 for %s before a key is asked for, and names those that it has", async (name) => {
    const [sample] = samplesOf(name, tenants.own);
    for (const method of ["DELETE", "PATCH", "OPTIONS", "PURGE"]) {
      const { status, headers, text } = await send({ ...sample!, method: method as "GET", body: undefined });
      const allowed = routes[name].methods.flatMap((known) => (known === "GET" ? ["GET", "HEAD"] : [known]));
      expect([status, headers.get("allow")]).toEqual([405, allowed.join(", ")]);
      reasonOf(name, status, text);
    }
  });
});

describe("a key without the right", () => {
  const weaker = { read: [], write: ["read"], admin: ["read", "write", "other project"] } as const;

  test.each(keyed)("gets nothing done with %s", async (name) => {
    for (const sample of samplesOf(name, tenants.own)) {
      // Which a reader may do where the project is there.
      if (sample.name === "upsertModel") continue;
      for (const key of weaker[sample.right ?? "read"]) {
        const response = await send(sample, keys[key]);
        expect([sample.name, key, succeeded(sample, response)]).toEqual([sample.name, key, false]);
        expect([sample.name, response.text.includes(secret)]).toEqual([sample.name, false]);
      }
    }
  });
});

describe("another's project", () => {
  const contentOf = async () => {
    const reading = allSamples(tenants.foreign, service).filter(({ shows }) => shows);
    const texts = await Promise.all(reading.map(async (sample) => (await send(sample, service.owner_key)).text));
    // A signature holds the time.
    return texts.map((text) => text.replaceAll(/wandb-files\/[^"]+/g, "<url>"));
  };

  test("looks the same as one that does not exist to keys that may not read it, and stays as it is", async () => {
    const before = await contentOf();
    expect(before.every((text) => text.includes(secret))).toBe(true);
    for (const name of keyed.filter((keyedName) => keyedName !== "metrics")) {
      for (const [at, sample] of samplesOf(name, tenants.foreign).entries()) {
        const nowhere = samplesOf(name, tenants.missing)[at]!;
        for (const key of ["read", "write", "admin", "other project", "other entity"] as const) {
          const there = await send(sample, keys[key]);
          const missing = await send(nowhere, keys[key]);
          expect([sample.name, key, there.text.includes(secret)]).toEqual([sample.name, key, false]);
          const seen = [there.status, withoutTenant(there.text, tenants.foreign)];
          expect([sample.name, key, ...seen]).toEqual([
            sample.name,
            key,
            missing.status,
            withoutTenant(missing.text, tenants.missing),
          ]);
        }
      }
    }
    expect(await contentOf()).toEqual(before);
  });

  test("is not reached by a signature for another path, or by one that was changed", async () => {
    const own = samplesOf("signedUrl", tenants.own);
    for (const [at, sample] of samplesOf("signedUrl", tenants.foreign).entries()) {
      const [keyId = "", payload = ""] = sample.path.slice("/wandb-files/".length).split(".");
      const signature = own[at]!.path.split(".").at(-1) ?? "";
      for (const token of [`${keyId}.${payload}.${signature}`, `${keyId}.${payload}`, payload, "", "%00.a.b"]) {
        const { status, text } = await send({ ...sample, path: `/wandb-files/${token}` });
        expect([token, status]).toEqual([token, 403]);
        reasonOf("signedUrl", status, text);
      }
    }
  });
});

describe("a session", () => {
  test.each(names)("reaches %s from pages of the service alone, under a name that is known", async (name) => {
    const halves = await sessionOf(service, keys.admin ?? "");
    const all = { cookie: halves.cookie, "x-heddle-session": halves.token };
    for (const sample of samplesOf(name, tenants.own)) {
      for (const [from, headers] of Object.entries(elsewhere))
        expect([sample.name, from, (await send(sample, undefined, { ...headers, ...all })).status]).toEqual([
          sample.name,
          from,
          403,
        ]);
      expect([sample.name, (await send(sample, undefined, { ...foreignHost, ...all })).status]).toEqual([
        sample.name,
        421,
      ]);
      if (typeof routes[name].access === "string") continue;
      const eachAlone: Record<string, string>[] = [{ cookie: halves.cookie }, { "x-heddle-session": halves.token }];
      for (const half of eachAlone) {
        const { status, headers } = await send(sample, undefined, { ...samePage, ...half });
        expect([sample.name, status, headers.get("www-authenticate")]).toEqual([sample.name, 401, "Bearer"]);
      }
      // Whoever has one is not somebody else by a key that the browser adds.
      const { status } = await send(sample, keys.admin, { ...samePage, "x-heddle-session": halves.token });
      expect([sample.name, status]).toEqual([sample.name, 401]);
    }
  });
});

// Last, and GraphQL at the end of it: some of its samples delete what others read.
describe("a key with the right", () => {
  test.each(names.toSorted((a, b) => Number(a === "graphql") - Number(b === "graphql")))(
    "gets every sample of %s done, and a browser can do nothing with the response",
    async (name) => {
      for (const sample of samplesOf(name, tenants.own)) {
        const key = sample.right && keys[sample.right];
        const response = await send(sample, key);
        expect([sample.name, response.status, response.text.slice(0, 300), succeeded(sample, response)]).toEqual([
          sample.name,
          expect.any(Number),
          expect.any(String),
          true,
        ]);
        if (sample.shows) expect([sample.name, response.text]).toEqual([sample.name, expect.stringContaining(secret)]);
        expect(response.headers.get("x-content-type-options")).toBe("nosniff");
        expect(response.headers.get("content-security-policy")).toMatch(/default-src 'none';.*frame-ancestors 'none'/);
        if (!["docs", "packages", "console"].includes(name))
          expect(response.headers.get("cache-control")).toBe("no-store");
        if (sample.method === "GET") {
          const head = await send({ ...sample, method: "HEAD" as "GET" }, key);
          expect([sample.name, head.status, head.text]).toEqual([sample.name, response.status, ""]);
        }
      }
      expect(service.unexpected).toEqual([]);
    },
  );
});

test.each(names)("%s names the parameters of the query that it does not read", async (name) => {
  const [sample] = samplesOf(name, tenants.own);
  if (sample === undefined) throw new Error(`no sample of ${name}`);
  for (const key of [keys.write, undefined]) {
    const { headers } = await send({ ...sample, path: `${sample.path}?limt=1&%C3%A9` }, key);
    expect(headers.get("x-heddle-unknown-parameters")).toBe("limt, %C3%A9");
    expect((await send(sample, key)).headers.get("x-heddle-unknown-parameters")).toBeNull();
  }
});
