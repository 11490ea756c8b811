import { graphqlRoute } from "../compat/graphql-route.js";
import { otlpLogsRoute, otlpMetricsRoute } from "../compat/otlp-signals-route.js";
import { fileStreamRoute } from "../compat/wandb/file-stream-route.js";
import { signedUrlRoute } from "../compat/wandb/signed-url-route.js";
import { docsRoute, homeRoute } from "../docs-site.js";
import { metricsRoute } from "../observability/metrics-route.js";
import type { Route } from "./route.js";

/**
 * Every route that the spec does not describe: the service mounts no other. The suites that go over the operations of the
 * spec go over these with the samples of `test/routes/`.
 */
export const routes = {
  home: homeRoute,
  docs: docsRoute,
  metrics: metricsRoute,
  graphql: graphqlRoute,
  fileStream: fileStreamRoute,
  signedUrl: signedUrlRoute,
  otlpLogs: otlpLogsRoute,
  otlpMetrics: otlpMetricsRoute,
} as const satisfies Readonly<Record<string, Route>>;
