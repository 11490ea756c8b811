import { withLoc } from "@heddle/errors";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import type { PriceFields, PriceInput } from "@heddle/trace-store";
import type { Caller, Services } from "../services.js";
import { wireTime } from "../wire/time.js";

export function costHandlers({ store }: Services): TracingHandlers<Caller>["costs"] {
  return {
    async costCreate({ body: { project_id, costs } }, caller) {
      const inputs = Object.entries(costs).map(
        ([llmId, input]) => [llmId, withLoc(["costs", llmId], () => priceInput(input))] as const,
      );
      return {
        ids: await store.costs.create({ project_id, costs: Object.fromEntries(inputs), created_by: caller.user_id }),
      };
    },

    async costQuery({ body }) {
      return { results: (await store.costs.query(body)).map(wirePrice) };
    },

    async costPurge({ body }) {
      await store.costs.purge(body);
      return {};
    },
  };
}

function priceInput({ effective_date, ...input }: Schemas["NewModelCost"]): PriceInput {
  return {
    ...input,
    effective_date: effective_date === undefined ? undefined : wireTime(effective_date, "effective_date"),
  };
}

function wirePrice({ effective_date, ...price }: PriceFields): Schemas["CostQueryOutput"] {
  return { ...price, ...(effective_date !== undefined && { effective_date: formatTime(effective_date) }) };
}
