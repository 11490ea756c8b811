import { expect, test } from "vitest";
import { wholeRequests } from "./whole-requests.js";

const url = new URL("http://10.0.0.2:4680");
const replaced = new AbortController().signal;
const places = { east: { url, replaced }, here: { store: {} }, nowhere: undefined };
const stores = new Map(
  Object.entries(places).map(([name, now]) => [name, { place: { now }, forwarded: 0 } as never] as const),
);
const known = new Map(Object.keys(places).map((shard) => [`acme/in ${shard}`, shard]));
const find = wholeRequests({ homes: { remembered: (projectId) => known.get(projectId) }, stores });

const urlFor = (target: string, projectId?: string, method = "POST") =>
  find({
    method,
    target,
    header: (name: string) => (name === "project_id" ? projectId : undefined),
  } as never)?.url;

test("calls and spans of a project that another replica works on are sent there whole", () => {
  expect(urlFor("/v2/acme/in%20east/calls/complete")).toBe(url);
  expect(urlFor("/v2/acme/in%20east/calls/complete?x=1")).toBe(url);
  for (const path of ["/otel/v1/traces", "/v1/traces", "/agents/otel/v1/traces/"]) {
    expect(urlFor(path, "acme/in east")).toBe(url);
  }
});

test.each([
  ["of this replica", "/v2/acme/in%20here/calls/complete", undefined],
  ["that nobody works on now", "/v2/acme/in%20nowhere/calls/complete", undefined],
  ["that is not remembered", "/v2/acme/other/calls/complete", undefined],
  ["that is none", "/v2/acme/%ff/calls/complete", undefined],
  ["of another operation", "/v2/acme/in%20east/call/start", undefined],
  ["of spans that may name it themselves", "/otel/v1/traces", undefined],
  ["of spans that is not remembered", "/otel/v1/traces", "acme/other"],
  ["of metrics", "/otel/v1/metrics", "acme/in east"],
])("a request for a project %s is read here", (_, target, projectId) => {
  expect(urlFor(target, projectId)).toBeUndefined();
});

test("only what is stored is sent whole", () => {
  expect(urlFor("/v2/acme/in%20east/calls/complete", undefined, "GET")).toBeUndefined();
});
