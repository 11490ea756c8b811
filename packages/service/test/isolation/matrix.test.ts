import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operations, signedOperations, toRequest, writes } from "../spec-requests.js";
import type { SpecOperation } from "../spec-requests.js";
import { shareOf } from "../search-depth.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { emptyTenant, secret, seededTenant, send, withoutNames } from "./tenants.js";
import type { Tenant } from "./tenants.js";

// operation × key × whose id: what the spec gains is in here by itself.

let service: TestService;
/** The caller's project, one of another entity that only the owner may read, and names that nothing has. */
const tenants = {} as Record<"own" | "foreign" | "missing", Tenant>;
const keys = {} as Record<
  "none" | "wrong" | "revoked" | "read" | "write" | "admin" | "other project" | "other entity",
  string | undefined
>;

beforeAll(async () => {
  service = await openTestService();
  const seeding = [seededTenant(service, newProject()), seededTenant(service, newProject("rival"), { hidden: true })];
  const [own, foreign] = (await Promise.all(seeding)) as [Tenant, Tenant];
  Object.assign(tenants, { own, foreign });
  tenants.missing = emptyTenant(newProject());
  const { key, secret: revoked } = await service.services.control.keys.create({
    user_name: "bob",
    entity: "acme",
    role: "write",
  });
  await service.services.control.keys.revoke(key.id);
  Object.assign(keys, {
    none: undefined,
    wrong: "w".repeat(40),
    revoked,
    read: await service.key({ role: "read" }),
    write: await service.key({ role: "write" }),
    admin: await service.key({ role: "admin" }),
    "other project": await service.key({ role: "admin", projects: ["elsewhere"] }),
    "other entity": await service.key({ role: "admin", entity: "other" }),
  });
});
afterAll(() => service.close());

const known = ["own", "foreign", "missing"] as const;
const closed = operations.filter((operation) => !operation.public);
/** Their response is put together from several projects; what the key may not read is left out. */
const acrossProjects = closed.filter(({ access }) => access?.project === "several");
const scoped = closed.filter(
  (operation) => !acrossProjects.includes(operation) && operation.access?.project !== "none",
);

/** The keys of the caller that may, by the right that an operation needs, and those that may not. */
const allowed = { read: ["read", "write"], write: ["write"], admin: ["admin"] } as const;
const tooWeak = { read: [], write: ["read"], admin: ["read", "write"] } as const;
const rightOf = ({ access }: SpecOperation) => access?.right ?? "read";
/** The member of an error body that has the reason. */
const reasonOf = ({ model }: SpecOperation) => (model.interface === "training" ? "detail" : "reason");
const forbiddenBy = (operation: SpecOperation) => JSON.stringify({ [reasonOf(operation)]: "Forbidden" });

/** What says something else each time: a link is a new one, and fields are those that were found in time. */
const changing = new Set(["exportCreate", "callsFields"]);

/** Everything that can be read of a project, but not how far the service has got. */
async function contentOf(tenant: Tenant): Promise<unknown[]> {
  // What takes no input is not about one project.
  const reading = operations.filter(
    (operation) =>
      !operation.public &&
      !writes(operation) &&
      !changing.has(operation.id) &&
      (operation.params.length > 0 || operation.body),
  );
  return Promise.all(
    reading.map(async (operation) => {
      const { status, text } = await send(service, operation, tenant.request(operation), service.owner_key);
      // A busy machine answers from the newest calls, which are all that there are.
      const exact = text.replace(/"exact":false(.*),"since":"[^"]*"/, '"exact":true$1');
      return [operation.id, status, exact.replace(/"seq":"\d+"/g, '"seq":"<seq>"')];
    }),
  );
}

/** Runs `work` for every pair, all at once. */
async function eachPair<A, B>(some: readonly A[], others: readonly B[], work: (a: A, b: B) => Promise<void>) {
  await Promise.all(some.flatMap((a) => others.map((b) => work(a, b))));
}

describe.concurrent("an operation of the spec has a handler", () => {
  test.each(operations)("$id", async (operation) => {
    const { status } = await send(service, operation, tenants.missing.request(operation), service.owner_key);
    expect(status).not.toBe(501);
  });
});

let before: unknown[];
test("the tenants hold what the samples ask for", async () => {
  before = [await contentOf(tenants.own), await contentOf(tenants.foreign)];
  const [, foreign] = before.map((tenant) => JSON.stringify(tenant));
  expect(foreign?.split(secret).length).toBeGreaterThan(15);
  expect(foreign).not.toMatch(/\{\\"(reason|detail)\\"/);
});

describe.concurrent("a request without a key that is known", () => {
  test.each(closed)("$id", async (operation) => {
    await eachPair(["none", "wrong", "revoked"] as const, known, async (key, whose) => {
      const { status, headers, text } = await send(service, operation, tenants[whose].request(operation), keys[key]);
      expect([key, whose, status]).toEqual([key, whose, 401]);
      expect(headers.get("www-authenticate")).toMatch(/^Basic/);
      const members = [...(operation.errorObject ? ["error"] : []), reasonOf(operation)];
      expect(Object.keys(JSON.parse(text) as object)).toEqual(members);
    });
  });
});

describe.concurrent("a key that may not", () => {
  test.each(scoped)("$id", async (operation) => {
    // A record is looked up for its project, so it does not exist for the keys of others.
    const elsewhere = ["other project", "other entity"] as const;
    const isRecord = operation.access?.project === "record";
    const refused = [...(isRecord ? [] : elsewhere), ...tooWeak[rightOf(operation)]];
    const nowhere = newProject();
    await eachPair(refused, known, async (key, whose) => {
      for (const projectId of [tenants.own.project_id, nowhere]) {
        const parts = tenants[whose].request(operation, projectId);
        const { status, text } = await send(service, operation, parts, keys[key]);
        expect([key, whose, status, text]).toEqual([key, whose, 403, forbiddenBy(operation)]);
      }
    });
    const responseTo = async (key: keyof typeof keys, whose: keyof typeof tenants) => {
      const { status, text } = await send(service, operation, tenants[whose].request(operation), keys[key]);
      return [status, withoutNames(text)];
    };
    if (!isRecord) {
      expect(await responseTo("admin", "foreign")).toEqual([403, forbiddenBy(operation)]);
      return;
    }
    const missing = await responseTo("admin", "missing");
    expect(missing).toEqual([404, expect.anything()]);
    expect(await responseTo("admin", "foreign")).toEqual(missing);
    await eachPair(elsewhere, known, async (key, whose) => {
      expect([key, whose, await responseTo(key, whose)]).toEqual([key, whose, missing]);
    });
  });
});

test("a request that was refused changed nothing", async () => {
  expect([await contentOf(tenants.own), await contentOf(tenants.foreign)]).toEqual(before);
});

describe.concurrent("inside an allowed project a foreign id looks like one that does not exist", () => {
  test.each(shareOf(closed, 5))("$id", async (operation) => {
    const responseTo = async (key: "read" | "write" | "admin", whose: "foreign" | "missing") => {
      // One project per request: what a write makes there must not be found by the next.
      const projectId = newProject();
      await service.services.control.projects.ensure("acme", projectId.slice("acme/".length));
      const parts = tenants[whose].request(operation, projectId);
      const { status, headers, text } = await send(service, operation, parts, keys[key]);
      expect(text).not.toContain(secret);
      expect(status).toBeLessThan(500);
      return [status, headers.get("content-type"), withoutNames(text)];
    };
    for (const key of allowed[rightOf(operation)]) {
      const [foreign, missing] = await Promise.all([responseTo(key, "foreign"), responseTo(key, "missing")]);
      expect(foreign).toEqual(missing);
    }
  });
});

describe.concurrent("what names several projects does not reveal those of others", () => {
  test.each(acrossProjects)("$id", async (operation) => {
    const nowhere = newProject("rival");
    for (const key of ["write", "read", "other entity", "other project"] as const) {
      const there = await send(service, operation, tenants.foreign.request(operation), keys[key]);
      const missing = await send(service, operation, tenants.foreign.request(operation, nowhere), keys[key]);
      expect(there.text).not.toContain(secret);
      const normalized = (text: string) => withoutNames(text).replace(/rival\/p-\w+/g, "<project>");
      expect([there.status, normalized(there.text)]).toEqual([missing.status, normalized(missing.text)]);
    }
  });
});

test("none of it changed the foreign project", async () => {
  expect(await contentOf(tenants.foreign)).toEqual(before[1]);
});

describe("a key that may", () => {
  // The documents list what holds other things before what it holds, so what destroys goes backwards, last.
  const inOrder = [
    ...closed.filter(({ destructive }) => !destructive),
    ...closed.filter(({ destructive }) => destructive).toReversed(),
  ];
  test.each(shareOf(inOrder, 6))("$id", async (operation) => {
    for (const key of allowed[rightOf(operation)]) {
      const { status, text } = await send(service, operation, tenants.own.request(operation), keys[key]);
      expect([status, text]).toEqual([200, expect.anything()]);
      expect(text).not.toContain(secret);
    }
  });

  test("sees what it asked for and broke nothing", () => expect(service.unexpected).toEqual([]));
});

describe("an operation without a key", () => {
  const open = operations.filter((operation) => operation.public && !signedOperations.has(operation.id));
  test.each(open)("$id", async (operation) => {
    for (const key of Object.values(keys)) {
      const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
      const response = await service.fetch(...toRequest(operation, tenants.own.request(operation), headers));
      expect(response.status).toBe(200);
      expect(await response.text()).not.toContain(secret);
    }
  });
});
