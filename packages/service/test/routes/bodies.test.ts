import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { routes } from "../../src/boot/routes.js";
import { nearly } from "../fuzz/mutations.js";
import { oddText } from "../fuzz/raw-texts.js";
import { hostileTexts, loneSurrogate, withText } from "../hostile/hostile-texts.js";
import { fuzzRuns } from "../search-depth.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { reasonOf } from "./error-shapes.js";
import { allSamples, requestOf, routeSamples } from "./route-samples.js";
import type { RouteSample } from "./route-samples.js";
import { routeTenant } from "./route-tenants.js";
import type { RouteTenant } from "./route-tenants.js";

// Random, hostile and oversized requests for every route of the registry, made from its samples.

const randomSeed = Number(process.env["FUZZ_SEED"] ?? 20_260_410);
const runs = 40 * fuzzRuns;

let service: TestService;
let tenant: RouteTenant;
beforeAll(async () => {
  service = await openTestService({}, { everyRoute: true });
  const { key } = await service.services.control.keys.create({ user_name: "ann", entity: "acme", role: "write" });
  tenant = await routeTenant(service, newProject(), key.id);
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

type Name = keyof typeof routes;
const names = Object.keys(routes) as Name[];
const withJson: Name[] = ["graphql", "fileStream"];

async function send(sample: RouteSample, headers: Record<string, string> = {}) {
  const response = await service.fetch(...requestOf(sample, service.owner_key, headers));
  return { status: response.status, text: await response.text() };
}

/** Every response is one that its clients know: of success, or of an error in the form of the route. */
function expectFine(name: Name, { status, text }: { status: number; text: string }): void {
  expect([status, text.slice(0, 300)]).toEqual([expect.toSatisfy((code: number) => code < 500), expect.anything()]);
  if (status >= 400) expect(reasonOf(name, status, text)).not.toBe("");
  else if (name === "graphql") {
    const { data, errors, ...rest } = JSON.parse(text) as Record<string, unknown>;
    expect([(data === undefined) !== (errors === undefined), rest]).toEqual([true, {}]);
    if (errors !== undefined) expect(errors).toEqual([expect.objectContaining({ message: expect.any(String) })]);
  }
}

describe("no request causes an error 500, and every response has the form that its clients know", () => {
  test.each(names)("%s", { timeout: 60_000 + runs * 1000 }, async (name) => {
    const samples = routeSamples[name](tenant, service).filter(({ deletes }) => deletes !== true);
    const requests = fc.constantFrom(...samples).chain((sample) =>
      fc.record({ sample: fc.constant(sample), body: bodyOf(sample), path: pathOf(sample.path) }).map((changed) => ({
        ...changed.sample,
        ...(changed.body !== undefined && { body: changed.body }),
        path: changed.path,
      })),
    );
    const statuses = new Set(samples.map(({ status }) => status));
    const responses: { status: number; text: string }[] = [];
    await fc.assert(
      fc.asyncProperty(fc.array(requests, { minLength: 4, maxLength: 4 }), async (all) => {
        const received = await Promise.all(all.map(async (sample) => await send(sample)));
        for (const response of received) expectFine(name, response);
        responses.push(...received);
        expect(service.unexpected.splice(0)).toEqual([]);
      }),
      { seed: randomSeed, numRuns: runs, interruptAfterTimeLimit: 30_000 + runs * 500 },
    );
    // Requests that are refused at once search nothing behind it.
    const accepted = responses.filter(
      ({ status, text }) => statuses.has(status) || (status < 400 && !text.startsWith('{"errors"')),
    );
    expect(accepted.length / responses.length).toBeGreaterThan(0.1);
  });
});

function bodyOf({ body, method }: RouteSample): fc.Arbitrary<unknown> {
  if (method === "GET") return fc.constant(undefined);
  if (typeof body === "string") return fc.oneof(fc.constant(body), fc.string(), fc.json());
  const { query } = body as { query?: string };
  if (query === undefined) return nearly(fc.constant(body));
  return fc
    .tuple(nearly(fc.constant(body)), queryOf(query))
    .map(([changed, text]) =>
      typeof changed === "object" && changed !== null && "query" in changed ? { ...changed, query: text } : changed,
    );
}

const queryWords = fc.constantFrom(
  ..."{ } ( ) $ : ... ! on fragment query mutation true null 1e999 __proto__ constructor hasOwnProperty __schema".split(
    " ",
  ),
  "@include(if: $x)",
  "@skip(if: true)",
  "...A",
  '"""',
  "{ id { id } }",
  "files(first: -1) { edges { node { url } } }",
  "history(minStep: 5, maxStep: 1e9)",
);

/** A query with some of its words replaced by others. */
function queryOf(query: string): fc.Arbitrary<string> {
  const words = query.split(/(\s+|[{}():$,])/);
  const change = fc.record({
    at: fc.nat(words.length - 1),
    word: fc.oneof(queryWords, fc.constantFrom(...words), oddText),
  });
  const changes = fc.oneof({ arbitrary: fc.constant([]), weight: 2 }, fc.array(change, { minLength: 1, maxLength: 3 }));
  return changes.map((all) => all.reduce((text, { at, word }) => text.with(at, word), words).join(""));
}

/** A path with one of its segments replaced, and a query. */
function pathOf(path: string): fc.Arbitrary<string> {
  const segments = path.split("/");
  const replaced = fc
    .tuple(fc.nat(segments.length - 1), oddText)
    // Lone surrogates have no percent-encoding.
    .map(([at, text]) =>
      at === 0 ? path : segments.with(at, encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, ""))).join("/"),
    )
    // What is not a request of this route any more.
    .filter((changed) => changed.split("/")[1] === segments[1]);
  const same = fc.constant(path);
  return fc.oneof(
    { arbitrary: same, weight: 3 },
    replaced,
    same.map((known) => `${known}?a=%ff&__proto__=1`),
  );
}

describe("any string of a request may be hostile", () => {
  const texts = [Object.values(hostileTexts).join(" "), "", "a\0b", "__proto__", loneSurrogate, "x".repeat(500_000)];
  test.each(withJson)("%s", async (name) => {
    for (const sample of routeSamples[name](tenant, service)) {
      if (sample.deletes) continue;
      for (const text of texts) {
        const changed = [...withText(sample.body, text)];
        await Promise.all(changed.map(async ([, body]) => expectFine(name, await send({ ...sample, body }))));
      }
    }
  });
});

test.each(names)("%s takes headers and queries of any kind", async (name) => {
  const [sample] = routeSamples[name](tenant, service);
  const cases: Record<string, string>[] = [
    { "content-type": "text/xml" },
    { "content-type": "multipart/form-data; boundary=x" },
    { accept: "image/png", "accept-encoding": "br;q=x, *;q=y" },
    { range: "bytes=9-1,4-" },
    { "if-none-match": '"' },
    { authorization: "Basic ====" },
  ];
  for (const headers of cases)
    expectFine(name, await send({ ...sample!, path: `${sample!.path}?${"a=b&".repeat(2000)}` }, headers));
});

describe.each(withJson)("a body of %s", (name) => {
  const sampleOf = (): RouteSample => routeSamples[name](tenant, service)[0]!;
  const largest = { graphql: 8 * 1024 * 1024, fileStream: 16 * 1024 * 1024 }[name as "graphql"];
  const sendBody = async (body: string | Uint8Array, headers: Record<string, string> = {}) => {
    const { status, text } = await send({ ...sampleOf(), body }, headers);
    return [status, status < 400 ? "" : reasonOf(name, status, text)];
  };

  test("is taken compressed, and refused when it is broken", async () => {
    const good = JSON.stringify(sampleOf().body);
    expect(await sendBody(Uint8Array.from(gzipSync(good)), { "content-encoding": "gzip" })).toEqual([200, ""]);
    expect(await sendBody(good, { "content-encoding": "gzip" })).toEqual([400, expect.stringContaining("gzip")]);
    expect(await sendBody(good, { "content-encoding": "br" })).toEqual([415, expect.stringContaining("br")]);
    expect(await sendBody(Uint8Array.of(0x22, 0xff, 0x22))).toEqual([400, expect.stringContaining("UTF-8")]);
    for (const text of ["", "[", "nul", `{"query":`])
      expect(await sendBody(text)).toEqual([400, expect.stringContaining("JSON")]);
  });

  test("is refused with 413 when it is too large, also where it is compressed, or holds too many values", async () => {
    const tooLarge = `{"x":"${"x".repeat(largest)}"}`;
    expect(await sendBody(tooLarge)).toEqual([413, expect.stringContaining(`at most ${largest} bytes`)]);
    const bomb = Uint8Array.from(gzipSync(tooLarge));
    expect(await sendBody(bomb, { "content-encoding": "gzip" })).toEqual([413, expect.stringContaining("bytes")]);
    for (const value of ["{},", "[],", '"",', "0,", "[", '{"a":'])
      expect(await sendBody(`{"variables":[${value.repeat(1_000_000)}`)).toEqual([
        413,
        expect.stringContaining("values"),
      ]);
  });

  test("of a value that is deep, or not an object, is refused or ignored", async () => {
    const deep = `${'{"a":['.repeat(50_000)}${"]}".repeat(50_000)}`;
    for (const text of [`{"query":"{ viewer { id } }","variables":${deep},"files":{}}`, deep, "1", "null", "[]", '"x"'])
      expect([200, 400]).toContain((await sendBody(text))[0]);
  });
});

test("a manifest that is too large is refused, and so is content of a wrong digest", async () => {
  const puts = routeSamples.signedUrl(tenant, service).filter(({ method }) => method === "PUT");
  const [content, manifest] = puts;
  const large = await send({ ...manifest!, body: "x".repeat(16 * 1024 * 1024 + 1) });
  expect([large.status, reasonOf("signedUrl", large.status, large.text)]).toEqual([
    413,
    expect.stringContaining("bytes"),
  ]);
  const wrong = await send({ ...content!, body: "x".repeat(1_000_000) });
  expect([wrong.status, reasonOf("signedUrl", wrong.status, wrong.text)]).toEqual([
    409,
    expect.stringContaining("MD5"),
  ]);
});

test("the service is as it was", async () => {
  for (const sample of allSamples(tenant, service)) {
    if (sample.right === "read") expect([sample.name, (await send(sample)).status]).toEqual([sample.name, 200]);
  }
});
