import { graphqlRoute } from "../wandb/graphql-route.js";
import { fileStreamRoute } from "../wandb/file-stream-route.js";
import { adapterRoute } from "../training/adapter-route.js";
import { signedUrlRoute } from "../wandb/signed-url-route.js";
import { consoleRoute, wandbLinksRoute, weaveLinksRoute } from "../http/console-site.js";
import { docsRoute } from "../http/docs-site.js";
import { homeRoute } from "../http/home-route.js";
import { liveRoute } from "../http/live-route.js";
import { packagesRoute } from "../http/served-packages.js";
import { metricsRoute } from "../observability/metrics-route.js";
import type { Route } from "../http/route.js";
import { otlpLogsRoute, otlpMetricsRoute } from "../otlp/signals-route.js";
import type { Metrics } from "../observability/metrics.js";
import type { WandbServices } from "../wandb/wandb-services.js";

/** What routes are made of. */
export interface Site {
  services: WandbServices;
  docsDir: string | undefined;
  consoleDir: string | undefined;
  packagesDir: string | undefined;
  /** Undefined where metrics are not served on this port. */
  metrics: Metrics | undefined;
}

/**
 * Every route that the spec does not describe: the service mounts no other. The suites that go over the operations of the
 * spec go over these with the samples of `test/routes/`.
 */
export const routes = {
  home: homeRoute,
  live: liveRoute,
  docs: docsRoute,
  packages: packagesRoute,
  console: consoleRoute,
  weaveLinks: weaveLinksRoute,
  wandbLinks: wandbLinksRoute,
  metrics: metricsRoute,
  graphql: graphqlRoute,
  fileStream: fileStreamRoute,
  signedUrl: signedUrlRoute,
  adapter: adapterRoute,
  otlpLogs: otlpLogsRoute,
  otlpMetrics: otlpMetricsRoute,
} as const satisfies Readonly<Record<string, Route<Site>>>;
