import type { Costs } from "../costs/costs.js";
import type { Engine } from "../engine/engine.js";
import type { CallScope } from "../visibility/call-scope.js";

/** What reads of results work on. */
export interface ResultsSource {
  engine: Engine;
  scope: () => CallScope;
  costs: Pick<Costs, "book">;
  signal: AbortSignal | undefined;
}
