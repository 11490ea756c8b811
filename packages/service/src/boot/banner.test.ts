import { expect, test } from "vitest";
import { banner } from "./banner.js";

test("a start has the link to log in where a console is served", () => {
  const facts = { url: "http://127.0.0.1:4680", key: { text: "k", shell: "k" }, projectId: "local/demo", readyMs: 1 };
  const consoleLink = "http://127.0.0.1:4680/console/login#code";
  expect(banner({ ...facts, consoleLink })).toContain(`
  API key       k
  console       ${consoleLink}
`);
  expect(banner(facts)).not.toContain("console");
});

test("a start says why nothing can be trained", () => {
  const facts = { url: "http://127.0.0.1:4680", key: { text: "k", shell: "k" }, projectId: "local/demo", readyMs: 1 };
  expect(banner({ ...facts, notTrained: "the reason" })).toContain("/docs\n  no training   the reason\n");
  expect(banner(facts)).not.toContain("training");
});

test("a start says where clients reach the service, when the settings say it", () => {
  const facts = { url: "http://127.0.0.1:4680", key: { text: "k", shell: "k" }, projectId: "local/demo", readyMs: 1 };
  expect(banner({ ...facts, publicUrl: "https://example.com/heddle" })).toContain(
    "\n  listening on  http://127.0.0.1:4680\n  reached at    https://example.com/heddle\n  API key       k\n  docs          https://example.com/heddle/docs\n",
  );
  expect(banner(facts)).toContain("\n  docs          http://127.0.0.1:4680/docs\n");
  expect(banner(facts)).not.toContain("reached at");
  const everything = banner({ ...facts, metricsUrl: "http://m/metrics", otlpGrpcUrl: "http://127.0.0.1:4317" });
  expect(everything).toContain("/docs\n  metrics       http://m/metrics\n  OTLP/gRPC     http://127.0.0.1:4317\n");
});
