import type { LLMCostSchema } from "@heddle/client/tracing";
import { formatCost, formatCount, formatMoment } from "../../ui/format.js";
import { useNow } from "../../ui/use-now.js";
import { visibleLine } from "../../ui/visible-text.js";
import { costLines } from "./cost-lines.js";
import { useCosts } from "./use-costs.js";
import "./cost.css";

/** What a call cost, down to the price that was applied. */
export function Cost({ projectId, callId }: { projectId: string; callId: string }) {
  const { data } = useCosts(projectId, callId);
  const models = Object.entries(data ?? {});
  if (models.length === 0) return undefined;
  return (
    <section className="span-part" aria-label="Cost">
      <div className="span-part-head">
        <h3>cost</h3>
        <span>{formatCost(models.reduce((sum, [, cost]) => sum + totalOf(cost), 0))}</span>
      </div>
      {models.map(([model, cost]) => (
        <ModelCost key={model} model={model} cost={cost} />
      ))}
    </section>
  );
}

const totalOf = (cost: LLMCostSchema): number => costLines(cost).reduce((sum, line) => sum + line.cost, 0);

function ModelCost({ model, cost }: { model: string; cost: LLMCostSchema }) {
  const now = useNow();
  const { provider_id, pricing_level, pricing_level_id, effective_date, prompt_token_cost_unit } = cost;
  return (
    <table className="cost">
      <caption>
        <span className="mono given">{visibleLine(model)}</span>{" "}
        <span className="quiet">
          price of {pricing_level === "project" ? "the project" : visibleLine(pricing_level_id ?? "default")}
          {provider_id !== undefined && ` for ${visibleLine(provider_id)}`}
          {effective_date !== undefined &&
            Date.parse(effective_date) > 0 &&
            `, since ${formatMoment(Date.parse(effective_date), now)}`}
          {prompt_token_cost_unit !== undefined && `, in ${prompt_token_cost_unit}`}
        </span>
      </caption>
      <thead>
        <tr>
          <th>tokens</th>
          <th className="figure">number</th>
          <th className="figure">price of a million</th>
          <th className="figure">cost</th>
        </tr>
      </thead>
      <tbody>
        {costLines(cost).map((line) => (
          <tr key={line.what}>
            <td>{line.what}</td>
            <td className="figure">{formatCount(line.tokens)}</td>
            <td className="figure" title={String(line.price)}>
              {formatCost(line.price * 1e6)}
            </td>
            <td className="figure" title={String(line.cost)}>
              {formatCost(line.cost)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
