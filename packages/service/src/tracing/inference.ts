import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { callerIfAny } from "../access/authenticate.js";
import { openInferenceLists } from "../providers/inference-lists.js";
import type { Caller, Services } from "../services.js";

export function inferenceHandlers(services: Services): TracingHandlers<Caller>["inference"] {
  const lists = openInferenceLists(services.providers);

  /** Only who has a key makes the service send requests to others. */
  async function models(kind: "analysis-models" | "router-models") {
    return { data: await lists.models(kind, { remembered: (await callerIfAny(services)) === undefined }) };
  }

  return {
    inferenceAnalysisVendoraModels: async () => await models("analysis-models"),
    inferenceRouterVendorcModels: async () => await models("router-models"),

    async vendorbHardware({ query }) {
      return { hardware: await lists.hardware(query.model) };
    },
  };
}
