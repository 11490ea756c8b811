import type { TraceStore } from "@heddle/trace-store";
import type { Completions } from "../chat-completions/completions.js";
import type { Providers } from "../providers/providers.js";

/** Where objects are read that can be run, and what runs the models that they name. */
export interface ModelBackends {
  store: TraceStore;
  providers: Providers;
  completions: Completions;
}
