import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { openInferenceLists } from "../providers/inference-lists.js";
import type { Caller, Services } from "../services.js";

export function inferenceHandlers({ providers }: Services): TracingHandlers<Caller>["inference"] {
  const lists = openInferenceLists(providers);
  return {
    async inferenceAnalysisVendoraModels() {
      return { data: await lists.models("analysis-models") };
    },

    async inferenceRouterVendorcModels() {
      return { data: await lists.models("router-models") };
    },

    async vendorbHardware({ query }) {
      return { hardware: await lists.hardware(query.model) };
    },
  };
}
