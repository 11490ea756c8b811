import { callsAggregate } from "@heddle/client/tracing";
import type { CallsAggregateInput } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "../router/routing.js";
import type { ReactNode } from "react";
import { useCommands } from "../commands/use-commands.js";
import { asCurl } from "../data/as-curl.js";
import { useSession } from "../session/session-context.js";
import { serviceUrl } from "../session/service-url.js";
import { Ago } from "../ui/ago.js";
import { Failure } from "../ui/failure.js";
import { formatCost, formatCount, formatDate } from "../ui/format.js";
import { copyText } from "../ui/notice.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { DayBars } from "./day-bars.js";
import { usageCommands } from "./settings-commands.js";
import { projectSettingsRoute } from "./settings-parts.js";
import { usageMetrics, usageOf } from "./usage-figures.js";
import type { Figures, Usage } from "./usage-figures.js";
import { measures, periods, rangeOf, readUsageSearch } from "./usage-search.js";
import type { Measure, UsageSearch } from "./usage-search.js";

const mostModels = 100;
const refreshMs = 30_000;

function usageRequest(projectId: string, days: number): CallsAggregateInput {
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return {
    project_id: projectId,
    time: { ...rangeOf(days, Date.now()), timezone },
    group_by: ["model"],
    metrics: usageMetrics,
    top: mostModels,
  };
}

const formats: Record<Measure, (value: number) => string> = {
  cost: formatCost,
  tokens: formatCount,
  calls: formatCount,
};

/** What the calls of a project used and cost, by day and by model. */
export function UsageView({ projectId }: { projectId: string }) {
  const { days = "30", of = "cost" } = useSearch({ from: projectSettingsRoute });
  const navigate = useNavigate({ from: projectSettingsRoute });
  const session = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: ["usage", projectId, days],
    queryFn: async ({ signal }) => {
      const response = await callsAggregate(session.connection, usageRequest(projectId, Number(days)), { signal });
      return { ...usageOf(response), since: response.exact ? undefined : response.since };
    },
    refetchInterval: refreshMs,
  });
  const change = (by: UsageSearch) => void navigate({ search: (given) => ({ ...given, ...by }) });
  const after = <Value extends string>(values: readonly Value[], value: Value) =>
    values[(values.indexOf(value) + 1) % values.length];
  const choose = (given: Record<string, unknown>) =>
    change({ ...("days" in given ? { days: undefined } : { of: undefined }), ...readUsageSearch(given) });
  useCommands({ scope: "Usage and costs" }, usageCommands, {
    measure: () => choose({ of: after(measures, of) }),
    days: () => choose({ days: after(periods, days) }),
    curl: () =>
      copyText(asCurl(serviceUrl(), "/calls/aggregate", usageRequest(projectId, Number(days))), "the request as curl"),
  });
  return (
    <>
      <div className="settings-bar">
        <label>
          Of the last{" "}
          <select aria-label="Time" value={days} onChange={({ target }) => choose({ days: target.value })}>
            {periods
              .toSorted((a, b) => Number(a) - Number(b))
              .map((period) => (
                <option key={period} value={period}>
                  {period} days
                </option>
              ))}
          </select>
        </label>
        <select aria-label="Measure" value={of} onChange={({ target }) => choose({ of: target.value })}>
          {measures.map((measure) => (
            <option key={measure}>{measure}</option>
          ))}
        </select>
        {data?.since !== undefined && (
          <span className="quiet">
            counted are calls since <Ago time={data.since} />
          </span>
        )}
      </div>
      {error !== null && <Failure what="Usage cannot be read." error={error} onRetry={() => refetch()} />}
      {data === undefined && error === null && <Waiting what="Adding up" />}
      {data !== undefined &&
        (data.total.calls === 0 ? (
          <p className="prose">There are no calls in this time.</p>
        ) : (
          <Tables usage={data} of={of} />
        ))}
    </>
  );
}

function Tables({ usage, of }: { usage: Usage; of: Measure }) {
  const { total, days, models, rest } = usage;
  return (
    <>
      <p className="usage-total">
        <strong>{formats[of](total[of])}</strong> {of === "cost" ? "cost" : of}
        {of === "cost" && <span className="quiet"> in the units of the prices</span>}
      </p>
      <DayBars
        label={`${of} by day`}
        values={days.toReversed().map((day) => ({ day: formatDate(Date.parse(day.start)), value: day[of] }))}
        format={formats[of]}
      />
      <FiguresTable
        caption="By model"
        head="model"
        rows={[
          ...models.map(({ model, ...figures }) => ({ id: model, title: visibleLine(model), figures })),
          ...(rest === undefined
            ? []
            : [{ id: "", title: <span className="quiet">calls without a model</span>, figures: rest }]),
          { id: " total", title: <strong>total</strong>, figures: total },
        ]}
      />
      <FiguresTable
        caption="By day"
        head="day"
        rows={days.map(({ start, ...figures }) => ({ id: start, title: formatDate(Date.parse(start)), figures }))}
      />
    </>
  );
}

interface FiguresTableProps {
  caption: string;
  head: string;
  rows: readonly { id: string; title: ReactNode; figures: Figures }[];
}

function FiguresTable({ caption, head, rows }: FiguresTableProps) {
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={caption}>
      <table className="plain-table is-figures">
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{head}</th>
            {["calls", "failed", "requests", "input tokens", "output tokens", "tokens", "cost"].map((title) => (
              <th key={title} scope="col" className="figure">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ id, title, figures }) => (
            <tr key={id}>
              <th scope="row" className="given">
                {title}
              </th>
              <Count of={figures.calls} />
              <td className="figure">
                {figures.errors > 0 && <span className="is-error">✗ {formatCount(figures.errors)}</span>}
              </td>
              <Count of={figures.requests} />
              <Count of={figures.input} />
              <Count of={figures.output} />
              <Count of={figures.tokens} />
              <td className={figures.cost === 0 ? "figure quiet" : "figure"} title={String(figures.cost)}>
                {formatCost(figures.cost)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const Count = ({ of }: { of: number }) => <td className={of === 0 ? "figure quiet" : "figure"}>{formatCount(of)}</td>;
