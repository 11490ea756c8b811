import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { GraphqlContext } from "../../src/wandb/graphql-context.js";
import { rootsOf } from "../../src/wandb/graphql-server.js";
import { routes } from "../../src/boot/routes.js";
import { newProject } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { routeSamples } from "./route-samples.js";
import { missingTenant } from "./route-tenants.js";

const tenant = missingTenant(newProject(), "key");
const signing = { services: { control: { urlSignatures: { sign: () => "signature" } } } } as unknown as TestService;
const source = fileURLToPath(new URL("../../src/", import.meta.url));

test.each(Object.entries(routes))("%s has a sample for each of its methods, under its name", (name, route) => {
  expect(name).toBe(route.id);
  const samples = routeSamples[name as keyof typeof routes](tenant, signing);
  expect([...new Set(samples.map(({ method }) => method))].toSorted()).toEqual([...route.methods].toSorted());
  expect(samples.every(({ right }) => (right !== undefined) === (typeof route.access !== "string"))).toBe(true);
});

test("every field that a GraphQL request can begin with has a sample", () => {
  const { query, mutation } = rootsOf({ services: { control: {} }, caller: {} } as GraphqlContext);
  const names = routeSamples.graphql(tenant, signing).map(({ name }) => name);
  expect(names.toSorted()).toEqual([...Object.keys(query), ...Object.keys(mutation)].toSorted());
});

/** What serves requests without being a route. */
const servers = [
  "boot/app.ts",
  "boot/draining.ts",
  "boot/entrance.ts",
  "boot/join-replicas.ts",
  "boot/listening.ts",
  "boot/open-installation.ts",
  "boot/open-sockets.ts",
  "http/behind-proxies.ts",
  "http/serve-routes.ts",
  "limits/with-scope.ts",
  "observability/metrics-route.ts",
  "otlp/listen-grpc.ts",
  "replicas/follower.ts",
  "replicas/hop.ts",
  "replicas/kept-request.ts",
  "sessions/guard-sessions.ts",
  // What replicas ask each other, signed: `faults/shards.test.ts`.
  "shards/serve-stores.ts",
];

test("no other file of the service can respond to a path: a route is in the registry", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
    /(?<!\.test)\.ts$/.test(file),
  );
  const serving = files.filter((file) =>
    /\bHttpServer\b|createServer\b/.test(readFileSync(join(source, file), "utf8")),
  );
  expect(serving.toSorted()).toEqual(servers);
});
