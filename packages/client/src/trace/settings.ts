export interface TraceOptions {
  /** Where the service listens. Default: `HEDDLE_URL`, else `http://127.0.0.1:4680`. */
  baseUrl?: string;
  /** Default: `HEDDLE_API_KEY`. */
  apiKey?: string;
  /** The project that calls are recorded in, as `entity/project`. Default: `HEDDLE_PROJECT`, else `local/default`. */
  project?: string;
  /** Told, once each, why calls do not arrive. Default: `console.warn`. */
  log?: (message: string) => void;
}

interface Platform {
  process?: {
    env?: Record<string, string | undefined>;
    getBuiltinModule?: (name: string) => unknown;
    on?: (event: "beforeExit", listener: () => void) => unknown;
  };
}

/** What Node.js, Bun, Deno and Workers have, and browsers have not. */
export const platform = (globalThis as Platform).process;

let chosen: TraceOptions = {};

/** Says where calls are sent. Without it, the environment does, which is read when the first call starts. */
export function init(options: TraceOptions): void {
  chosen = options;
}

export function settings(): { baseUrl: string; apiKey: string | undefined; project: string } {
  return {
    baseUrl: (chosen.baseUrl || variable("HEDDLE_URL") || "http://127.0.0.1:4680").replace(/\/$/, ""),
    apiKey: chosen.apiKey ?? variable("HEDDLE_API_KEY"),
    project: chosen.project || variable("HEDDLE_PROJECT") || "local/default",
  };
}

/** Deno refuses the environment to programs that may not read it. */
function variable(name: string): string | undefined {
  try {
    return platform?.env?.[name];
  } catch {
    return undefined;
  }
}

const logged = new Set<string>();

export function logOnce(message: string): void {
  if (logged.has(message) || logged.size > 99) return;
  logged.add(message);
  try {
    // oxlint-disable-next-line no-console -- an application that has not said where to is told on its terminal
    (chosen.log ?? console.warn)(`Heddle: ${message}`);
  } catch {
    // The application's own function; tracing does not throw into it.
  }
}
