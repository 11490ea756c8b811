import { docsDirectory } from "@heddle/docs";
import { banner, shownKey } from "../banner.js";
import { ConfigError } from "../config.js";
import type { Config } from "../config.js";
import { startService } from "../start.js";
import type { StartOptions } from "../start.js";

/** For tests; the defaults are those of a service. */
export type ServeOptions = Pick<StartOptions, "leaseMs" | "jobLeaseMs">;

/** A stop that takes longer than this is cut off: only requests without a response are lost. */
const stopMs = 9000;

/**
 * `heddle serve`: runs until SIGTERM or SIGINT, then finishes the requests it has accepted. Throws {@link ConfigError}
 * when another service has taken over.
 */
export async function serveCommand(config: Config, started: number, options: ServeOptions = {}): Promise<void> {
  const running = await startService(config, { docsDir: docsDirectory, ...options });
  const { log } = running;
  const readyMs = performance.now() - started;
  if (config.observability.log.format === "json") {
    const { url, metricsUrl } = running;
    log.info({ url, metrics_url: metricsUrl, ready_ms: Math.round(readyMs) }, "Heddle is ready");
  } else {
    process.stdout.write(
      banner({
        url: running.url,
        key: shownKey(running.apiKey, running.keyFile, process.stdout.isTTY),
        metricsUrl: running.metricsUrl,
        projectId: `${config.defaultEntity}/demo`,
        readyMs,
      }),
    );
  }
  const stopSignal = new Promise<void>((resolve) => {
    // Not `once`: pnpm passes a Ctrl-C on to a service that has it from the terminal already. Left to Node, the second
    // one would end the process in the middle of the stop that the first began.
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
  });
  const replaced = await Promise.race([stopSignal, running.replaced]);
  log.info("Stopping: finishing what was accepted");
  setTimeout(() => {
    log.error(`not finished after ${stopMs / 1000} s, leaving now`);
    process.exit(1);
  }, stopMs).unref();
  await running.close();
  if (replaced !== undefined) throw new ConfigError(replaced);
}
